#version 450
#extension GL_AMD_shader_ballot : require
#extension GL_ARB_shader_ballot : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_basic : require
// Lanes by fixed patterns, with all lanes active and with some: lanes that are not give 0.
// grid 3 1 1
// at 0 bits 192
// at 1 zeros 3072
// subgroups
// unjudged lavapipe does not know SPV_AMD_shader_ballot
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i];
    uint at = 16u * i;
    b[at] = swizzleInvocationsAMD(x, uvec4(1, 2, 3, 0));
    b[at + 1u] = swizzleInvocationsMaskedAMD(x, uvec3(15, 16, 5));
    b[at + 2u] = mbcntAMD(uint64_t(x) << 32 | uint64_t(a[i ^ 1u]));
    b[at + 3u] = writeInvocationAMD(x, a[7], 5u);
    // By random bits, and in a quad of which one lane is left.
    if ((x & 3u) != 0u) {
        b[at + 4u] = swizzleInvocationsAMD(x, uvec4(3, 3, 0, 1));
        b[at + 5u] = swizzleInvocationsMaskedAMD(x, uvec3(31, 0, 16));
        uvec3 three = swizzleInvocationsAMD(uvec3(x, ~x, 7u), uvec4(2, 0, 2, 0));
        b[at + 6u] = three.x ^ three.y;
        b[at + 7u] = three.z;
        ivec2 two = swizzleInvocationsMaskedAMD(ivec2(x, -1), uvec3(0, 3, 0));
        b[at + 8u] = uint(two.x ^ two.y);
        b[at + 9u] = mbcntAMD(ballotARB((x & 4u) != 0u));
        b[at + 10u] = writeInvocationAMD(1u, 2u, gl_SubgroupSize - 1u);
    }
    if ((i & 3u) == 2u) {
        b[at + 11u] = swizzleInvocationsAMD(x, uvec4(0, 1, 2, 3)) + swizzleInvocationsAMD(x, uvec4(1, 1, 1, 1));
        b[at + 12u] = swizzleInvocationsMaskedAMD(x, uvec3(30, 0, 0)) + swizzleInvocationsMaskedAMD(x, uvec3(31, 1, 0));
    }
    vec2 f = swizzleInvocationsMaskedAMD(vec2(float(x), float(i)), uvec3(3, 8, 31));
    b[at + 13u] = floatBitsToUint(f.x);
    b[at + 14u] = floatBitsToUint(f.y);
    b[at + 15u] = uint(swizzleInvocationsAMD(float16_t(x & 255u), uvec4(3, 2, 1, 0)));
}
