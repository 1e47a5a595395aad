#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
// grid 4 1 1
// subgroups
// floor 16
// at 0 bits 256
// at 1 zeros 32768
// at 2 zeros 16384
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint64_t b[][16]; };
layout(set = 0, binding = 2) buffer C { double c[][8]; };
// 64-bit reductions where other lanes wait: in branches, and in a loop that lanes leave one after the other.
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    uint64_t v = (uint64_t(x * 0x9e3779b9u) << 32) | uint64_t(x ^ 0x55aa55aau);
    int64_t s = int64_t(v);
    // Sums and products of few bits are exact in any order.
    double d = double(x & 63u) - 31.0;
    int n = 0, k = 0;
    if ((x & 3u) != 0u) {
        b[i][n++] = subgroupAdd(v);
        b[i][n++] = subgroupMul(v | 1ul);
        b[i][n++] = subgroupMin(v);
        b[i][n++] = uint64_t(subgroupMax(s));
        c[i][k++] = subgroupAdd(d);
        if ((x & 4u) != 0u) {
            b[i][n++] = subgroupXor(v);
            b[i][n++] = subgroupInclusiveAdd(v);
            b[i][n++] = uint64_t(subgroupExclusiveMin(s));
            b[i][n++] = subgroupClusteredMax(v, 8);
            c[i][k++] = subgroupInclusiveAdd(d);
            c[i][k++] = subgroupMin(d);
        } else {
            b[i][n++] = subgroupExclusiveMul(v | 1ul);
            c[i][k++] = subgroupInclusiveMax(d);
            c[i][k++] = subgroupMul(d > 0.0 ? 2.0 : 0.5);
        }
    }
    uint64_t sum = v;
    for (uint turn = 0u; turn <= (x >> 3 & 3u); turn++) {
        sum = subgroupInclusiveAdd(sum ^ uint64_t(turn));
        d = subgroupExclusiveAdd(d) * 0.25;
    }
    b[i][14] = sum;
    c[i][7] = d;
}
