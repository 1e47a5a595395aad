#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
// grid 4 1 1
// subgroups
// floor 16
// at 0 bits 256
// at 1 zeros 8192
// at 2 zeros 2048
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][32]; };
layout(set = 0, binding = 2) buffer C { float c[][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    int s = int(x);
    float f = float(x & 0xffffu) / 1000.0;
    int n = 0;
    b[i][n++] = subgroupAdd(x);
    b[i][n++] = subgroupMul(x | 1u);
    b[i][n++] = subgroupMin(x);
    b[i][n++] = subgroupMax(x);
    b[i][n++] = uint(subgroupMin(s));
    b[i][n++] = uint(subgroupMax(s));
    b[i][n++] = subgroupAnd(x | 0xf0f0f0f0u);
    b[i][n++] = subgroupOr(x & 0x0f0f0f0fu);
    b[i][n++] = subgroupXor(x);
    b[i][n++] = subgroupInclusiveAdd(x);
    b[i][n++] = subgroupExclusiveAdd(x);
    b[i][n++] = subgroupInclusiveMax(x);
    b[i][n++] = subgroupExclusiveMin(x);
    b[i][n++] = uint(subgroupExclusiveMax(s));
    b[i][n++] = subgroupInclusiveXor(x);
    b[i][n++] = subgroupExclusiveMul(x | 1u);
    b[i][n++] = subgroupExclusiveAnd(x);
    if ((x & 1u) != 0u) {
        b[i][n++] = subgroupAdd(x);
        b[i][n++] = subgroupInclusiveAdd(x);
        b[i][n++] = subgroupExclusiveOr(x);
    }
    n = 24;
    b[i][n++] = subgroupAdd(uvec3(x, x ^ 5u, 1u)).y;
    b[i][n++] = uint(subgroupAnd(x > 0x10000000u)) + 2u * uint(subgroupOr(x > 0xf0000000u)) + 4u * uint(subgroupXor(x > 0x80000000u));
    n = 0;
    c[i][n++] = subgroupAdd(f);
    c[i][n++] = subgroupMax(f);
    c[i][n++] = subgroupMin(f);
    c[i][n++] = subgroupMul(f * 0.05);
    c[i][n++] = subgroupInclusiveAdd(f);
    c[i][n++] = subgroupExclusiveAdd(f);
}
