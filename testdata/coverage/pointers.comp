#version 450
#extension GL_EXT_nonuniform_qualifier : require
// grid 2 1 1
// at 0 bits 256
// at 1 zeros 1024
// at 2.0 bits 64
// at 2.1 bits 64
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
layout(set = 0, binding = 2) buffer D { uint d[]; } many[2];
struct Deep { uint x[2][3]; mat2 m; };
shared Deep deep[4];
uint sum(Deep d, uint k) { uint t = 0u; for (uint i = 0u; i < 3u; ++i) t = t * 3u + d.x[k][i]; return t; }
void change(inout uint row[3], uint v) { row[v % 3u] += v; row[0] ^= 1u; }
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    uvec4 v = a[i];
    if (l < 4u) {
        for (uint r = 0u; r < 6u; ++r) deep[l].x[r / 3u][r % 3u] = v.x >> r;
        deep[l].m = mat2(float(v.y & 7u));
    }
    barrier();
    Deep mine = deep[v.z & 3u];
    change(mine.x[v.w & 1u], v.y);
    b[i][0] = sum(mine, v.w & 1u);
    b[i][1] = sum(deep[v.z & 3u], 1u);
    b[i][2] = uint(mine.m[1][1]) + uint(mine.m[0][1]);
    change(mine.x[0], 4u);
    b[i][3] = mine.x[0][1] + mine.x[1][v.x % 3u];
    many[nonuniformEXT(v.x & 1u)].d[i + 32u * 0u] += 3u;
    b[i][4] = many[nonuniformEXT(v.x & 1u)].d[i] ^ many[nonuniformEXT(1u - (v.x & 1u))].d[i];
    uint local[2][2][2];
    for (int p = 0; p < 8; ++p) local[p >> 2][p >> 1 & 1][p & 1] = v[p & 3] + uint(p);
    uint plane[2][2] = local[v.x & 1u];
    b[i][5] = plane[v.y & 1u][v.z & 1u];
    b[i][6] = local.length() + plane.length();
}
