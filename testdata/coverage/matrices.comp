#version 450
// grid 2 1 1
// floor 16
// at 0 floats 1024 -2 2
// at 1 zeros 8192
layout(local_size_x = 32) in;
struct In { mat4 m; };
layout(set = 0, binding = 0) readonly buffer A { In a[]; };
layout(set = 0, binding = 1) buffer B { float b[][64]; };
void put(inout int n, uint i, vec4 v) { b[i][n++] = v.x; b[i][n++] = v.y; b[i][n++] = v.z; b[i][n++] = v.w; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    mat4 m = a[i].m;
    mat3x2 r = mat3x2(m[0].xy, m[1].yz, m[2].zw);
    mat2x3 q = mat2x3(m);
    mat3 m3 = mat3(m);
    mat2 m2 = mat2(m);
    int n = 0;
    put(n, i, m * m[3]);
    put(n, i, m[2] * m);
    mat4 mm = m * transpose(m);
    put(n, i, mm[0]);
    put(n, i, mm[3]);
    mat2 rq = r * q;
    put(n, i, vec4(rq[0], rq[1]));
    put(n, i, vec4(q * m[0].xy, determinant(m2)));
    put(n, i, vec4(determinant(m3), determinant(m), (m * 0.5)[1][2], (-m)[2][1]));
    mat3 o = outerProduct(m[0].xyz, m[1].xyz);
    put(n, i, vec4(o[0], o[2][1]));
    mat4 c = matrixCompMult(m, m + mat4(1.0));
    put(n, i, c[1]);
    mat2 inv2 = inverse(m2 + mat2(6.0));
    put(n, i, vec4(inv2[0], inv2[1]));
    mat3 inv3 = inverse(m3 + mat3(9.0));
    put(n, i, vec4(inv3[0], inv3[2].z));
    mat4 inv4 = inverse(m + mat4(12.0));
    put(n, i, inv4[1]);
    uint k = uint(abs(m[0][0]) * 100.0) & 3u;
    put(n, i, m[k]);
    m[k][1] = 9.0;
    put(n, i, m[1] + m[3]);
}
