#version 450
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
struct Inner { uvec3 v; uint w[3]; };
struct Outer { Inner one; Inner many[2]; bool flag; };
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
const uint table[8] = uint[8](3u, 1u, 4u, 1u, 5u, 9u, 2u, 6u);
Outer make(uvec4 x) {
    Inner i = Inner(x.zyx, uint[3](x.w, x.x ^ x.y, 7u));
    return Outer(i, Inner[2](i, Inner(x.www, uint[3](x.x, x.y, x.z))), x.x > x.y);
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    Outer o = make(x);
    uint k = x.x & 1u, l = x.y % 3u;
    int n = 0;
    b[i][n++] = o.many[k].w[l] + o.one.v[l];
    o.many[k].v.y = 5u;
    o.many[1] = o.one;
    b[i][n++] = o.many[0].v.y ^ o.many[1].v.y;
    Outer copy = o;
    copy.one.w[l] += 1u;
    b[i][n++] = copy.one.w[l] - o.one.w[l] + uint(copy.flag);
    uvec4 y = x;
    y[x.z & 3u] = 9u;
    b[i][n++] = y.x + y.y * 3u + y.z * 5u + y.w * 7u;
    y.zx = y.xy;
    b[i][n++] = y.x ^ y.z;
    b[i][n++] = table[x.w & 7u];
    uint grid[4][4];
    for (int r = 0; r < 4; ++r) for (int c = 0; c < 4; ++c) grid[r][c] = x[r] * uint(c + 1);
    b[i][n++] = grid[x.x & 3u][x.y & 3u];
    uint row[4] = grid[2];
    b[i][n++] = row[x.z & 3u];
    b[i][n++] = o.many == Inner[2](o.one, o.one) ? 1u : 2u;
    bvec4 f = greaterThan(x, x.yzwx);
    b[i][n++] = uint(f[x.x & 3u]) + uint(f.w);
    uvec2 g = o.flag ? x.xy : x.zw;
    b[i][n++] = g.x - g.y;
}
