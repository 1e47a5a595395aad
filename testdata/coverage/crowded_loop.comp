#version 450
// grid 2 1 1
// at 0 floats 2048 -2 2
// at 1 zeros 81920
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { mat4 b[][10]; };
// A loop that carries 320 numbers of each lane, and 128 that all lanes share: more than there are registers.
void main() {
    uint i = gl_GlobalInvocationID.x, n = 2u + (i & 3u);
    mat4 m0 = mat4(a[i + 0u], vec3(0), a[i * 3u + 0u], vec3(2), vec4(a[i + 9u]), vec4(0, a[i], 1, 0));
    mat4 m1 = mat4(a[i + 1u], vec3(1), a[i * 3u + 1u], vec3(2), vec4(a[i + 9u]), vec4(3, a[i], 1, 0));
    mat4 m2 = mat4(a[i + 2u], vec3(2), a[i * 3u + 2u], vec3(2), vec4(a[i + 9u]), vec4(6, a[i], 1, 0));
    mat4 m3 = mat4(a[i + 3u], vec3(3), a[i * 3u + 3u], vec3(2), vec4(a[i + 9u]), vec4(9, a[i], 1, 0));
    mat4 m4 = mat4(a[i + 4u], vec3(4), a[i * 3u + 4u], vec3(2), vec4(a[i + 9u]), vec4(12, a[i], 1, 0));
    mat4 m5 = mat4(a[i + 5u], vec3(5), a[i * 3u + 5u], vec3(2), vec4(a[i + 9u]), vec4(15, a[i], 1, 0));
    mat4 m6 = mat4(a[i + 6u], vec3(6), a[i * 3u + 6u], vec3(2), vec4(a[i + 9u]), vec4(18, a[i], 1, 0));
    mat4 m7 = mat4(a[i + 7u], vec3(7), a[i * 3u + 7u], vec3(2), vec4(a[i + 9u]), vec4(21, a[i], 1, 0));
    mat4 m8 = mat4(a[i + 8u], vec3(8), a[i * 3u + 8u], vec3(2), vec4(a[i + 9u]), vec4(24, a[i], 1, 0));
    mat4 m9 = mat4(a[i + 9u], vec3(9), a[i * 3u + 9u], vec3(2), vec4(a[i + 9u]), vec4(27, a[i], 1, 0));
    mat4 m10 = mat4(a[i + 10u], vec3(10), a[i * 3u + 10u], vec3(2), vec4(a[i + 9u]), vec4(30, a[i], 1, 0));
    mat4 m11 = mat4(a[i + 11u], vec3(11), a[i * 3u + 11u], vec3(2), vec4(a[i + 9u]), vec4(33, a[i], 1, 0));
    mat4 m12 = mat4(a[i + 12u], vec3(12), a[i * 3u + 12u], vec3(2), vec4(a[i + 9u]), vec4(36, a[i], 1, 0));
    mat4 m13 = mat4(a[i + 13u], vec3(13), a[i * 3u + 13u], vec3(2), vec4(a[i + 9u]), vec4(39, a[i], 1, 0));
    mat4 m14 = mat4(a[i + 14u], vec3(14), a[i * 3u + 14u], vec3(2), vec4(a[i + 9u]), vec4(42, a[i], 1, 0));
    mat4 m15 = mat4(a[i + 15u], vec3(15), a[i * 3u + 15u], vec3(2), vec4(a[i + 9u]), vec4(45, a[i], 1, 0));
    mat4 m16 = mat4(a[i + 16u], vec3(16), a[i * 3u + 16u], vec3(2), vec4(a[i + 9u]), vec4(48, a[i], 1, 0));
    mat4 m17 = mat4(a[i + 17u], vec3(17), a[i * 3u + 17u], vec3(2), vec4(a[i + 9u]), vec4(51, a[i], 1, 0));
    mat4 m18 = mat4(a[i + 18u], vec3(18), a[i * 3u + 18u], vec3(2), vec4(a[i + 9u]), vec4(54, a[i], 1, 0));
    mat4 m19 = mat4(a[i + 19u], vec3(19), a[i * 3u + 19u], vec3(2), vec4(a[i + 9u]), vec4(57, a[i], 1, 0));
    mat4 s0 = mat4(vec4(a[0]), vec4(a[1], a[2], 1, 0), vec4(1, 2, 3, a[5]), vec4(0));
    mat4 s1 = mat4(vec4(a[1]), vec4(a[2], a[3], 1, 1), vec4(1, 2, 3, a[6]), vec4(1));
    mat4 s2 = mat4(vec4(a[2]), vec4(a[3], a[4], 1, 2), vec4(1, 2, 3, a[7]), vec4(2));
    mat4 s3 = mat4(vec4(a[3]), vec4(a[4], a[5], 1, 3), vec4(1, 2, 3, a[8]), vec4(3));
    mat4 s4 = mat4(vec4(a[4]), vec4(a[5], a[6], 1, 4), vec4(1, 2, 3, a[9]), vec4(4));
    mat4 s5 = mat4(vec4(a[5]), vec4(a[6], a[7], 1, 5), vec4(1, 2, 3, a[10]), vec4(5));
    mat4 s6 = mat4(vec4(a[6]), vec4(a[7], a[8], 1, 6), vec4(1, 2, 3, a[11]), vec4(6));
    mat4 s7 = mat4(vec4(a[7]), vec4(a[8], a[9], 1, 7), vec4(1, 2, 3, a[12]), vec4(7));
    for (uint t = 0u; t < n; t++) {
        float y = a[t * 32u + i] * 0.5;
        mat4 first = m0;
        m0 = m1 * y;
        m1 = m2 + y;
        m2 = m3 * 0.75;
        m3 = m4 - m4;
        m4 = m5 * y;
        m5 = m6 + y;
        m6 = m7 * 0.75;
        m7 = m8 - m12;
        m8 = m9 * y;
        m9 = m10 + y;
        m10 = m11 * 0.75;
        m11 = m12 - m0;
        m12 = m13 * y;
        m13 = m14 + y;
        m14 = m15 * 0.75;
        m15 = m16 - m8;
        m16 = m17 * y;
        m17 = m18 + y;
        m18 = m19 * 0.75;
        m19 = first - m16;
        if ((t & 1u) == 0u) continue;
        m3 += s0 * 0.25;
    }
    for (uint t = 0u; t < uint(abs(a[7])) + 3u; t++) {
        float z = a[t];
        mat4 first = s0;
        s0 = s1 * z;
        s1 = s2 + z;
        s2 = s3 * 0.75;
        s3 = s4 - s2;
        s4 = s5 * z;
        s5 = s6 + z;
        s6 = s7 * 0.75;
        s7 = first - s6;
    }
    b[i][0] = m0 + m1 * 0.5 + s0;
    b[i][1] = m2 + m3 * 0.5 + s1;
    b[i][2] = m4 + m5 * 0.5 + s2;
    b[i][3] = m6 + m7 * 0.5 + s3;
    b[i][4] = m8 + m9 * 0.5 + s4;
    b[i][5] = m10 + m11 * 0.5 + s5;
    b[i][6] = m12 + m13 * 0.5 + s6;
    b[i][7] = m14 + m15 * 0.5 + s7;
    b[i][8] = m16 + m17 * 0.5 + s0;
    b[i][9] = m18 + m19 * 0.5 + s1;
}
