#version 450
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
uint count = 3u;
void swap(inout uint x, inout uint y) { uint t = x; x = y; y = t; }
uint sort3(inout uint v[3]) {
    uint swaps = 0u;
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < 2; ++k)
            if (v[k] > v[k + 1]) { swap(v[k], v[k + 1]); ++swaps; }
    return swaps;
}
void several(uint x, out uint y, out uvec2 z) {
    y = x + 1u;
    if (x > 0x80000000u) { z = uvec2(1u, x); return; }
    z = uvec2(x, 2u);
    ++count;
}
uint early(uint x) {
    if ((x & 1u) != 0u) return 1u;
    if ((x & 2u) != 0u) { if ((x & 4u) != 0u) return 2u; }
    for (uint i = 0u; i < 4u; ++i) if ((x >> (8u + i)) % 7u == 0u) return 10u + i;
    return 3u;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint v[3] = uint[3](a[i * 4], a[i * 4 + 1], a[i * 4 + 2]);
    b[i][0] = sort3(v);
    b[i][1] = v[0] ^ v[2] >> 1;
    uint y;
    uvec2 z = uvec2(0u);
    several(a[i * 4 + 3], y, z);
    b[i][2] = y + z.x * 3u + z.y * 5u;
    b[i][3] = count;
    b[i][4] = early(a[i * 4]);
    b[i][5] = early(early(a[i * 4 + 1]) * 8u);
    swap(b[i][6], v[1]);
}
