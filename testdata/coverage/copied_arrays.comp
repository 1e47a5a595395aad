#version 450
// Arrays that are passed by value, and so copied, from uniform buffers and constants; and copies that are changed, which
// are not the original any more.
// grid 2 1 1
// uniform 0 floats 256 -4 4
// at 1 floats 256 -4 4
// at 2 zeros 1024
layout(local_size_x = 32) in;
struct Light { vec4 place; vec3 color; float range; };
layout(set = 0, binding = 0, std140) uniform U {
    vec4 rows[8];        // 0
    float weights[8];    // 128: each in 16 bytes
    Light lights[4];     // 256
    mat4 bones[4];       // 384
    vec3 apart[4];       // 640: 12 bytes of 16
} u;
layout(set = 0, binding = 1) readonly buffer A { float a[256]; };
layout(set = 0, binding = 2) writeonly buffer B { vec4 b[]; };
const float table[5] = float[](0.5, 1.5, -2.25, 8.0, 3.0);
vec4 row(vec4 rows[8], uint i) { return rows[i & 7u]; }
vec4 inner(vec4 rows[8], uint i) { return row(rows, i + 3u) + rows[1]; }
float weight(float w[8], uint i) { return w[i & 7u] * w[2]; }
float lit(Light all[4], uint i) { Light one = all[i & 3u]; return dot(one.place.xyz, one.color) * one.range; }
vec4 bone(mat4 m[4], uint i) { return m[i & 3u][i >> 2 & 3u]; }
vec3 spread(vec3 v[4], uint i) { return v[i & 3u]; }
float looked(float t[5], uint i) { return t[i % 5u]; }
float changed(float w[8], uint i) { w[i & 7u] += 1.0; return w[3] + w[(i + 1u) & 7u]; }
float read(float w[256], uint i) { return w[i & 255u]; }
void main() {
    uint i = gl_GlobalInvocationID.x, at = 4u * i;
    vec4 some[8] = u.rows;
    if ((i & 1u) != 0u) some[2] = vec4(9.0);
    vec4 either[8];
    if ((i & 2u) != 0u) either = u.rows; else for (int k = 0; k < 8; ++k) either[k] = vec4(float(k));
    float sum = 0.0;
    for (uint k = 0u; k < 3u; ++k) {
        float now[8] = u.weights;
        sum += weight(now, i + k);
    }
    b[at] = row(u.rows, i) + inner(u.rows, i) + vec4(some[i & 7u].xy, either[i & 7u].zw);
    b[at + 1u] = vec4(weight(u.weights, i), lit(u.lights, i), looked(table, i), changed(u.weights, i));
    b[at + 2u] = bone(u.bones, i) + vec4(spread(u.apart, i), sum);
    b[at + 3u] = vec4(read(a, 3u * i), some[2].x, looked(table, i + 2u), float[](1.0, 2.0, 3.0)[i % 3u]);
}
