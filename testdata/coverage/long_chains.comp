#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 4096
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
#define FOUR(x) x x x x
#define STEPS(x) FOUR(FOUR(FOUR(FOUR(x))))
void main() {
    uint i = gl_GlobalInvocationID.x;
    // Uniform: a longer chain of operations than is left scalar.
    uvec4 u = a[gl_WorkGroupID.x];
    STEPS(u.x = u.x * u.z + u.y; u.y = (u.y ^ u.x) + u.w;)
    b[i][0] = u.x;
    b[i][1] = u.y;
    uint64_t w = (uint64_t(u.x) << 32) | u.z;
    STEPS(w = w * 0x5851f42d4c957f2dul + u.w;)
    b[i][2] = uint(w >> 32);
    // An address and a branch depend on it.
    b[i][3] = a[u.x & 31u].x;
    if ((u.y & 1u) == 0u) b[i][4] = u.w;
    // Divergent.
    uvec4 v = a[i];
    STEPS(v.x = (v.x << 1u) * v.y + v.z; v.y ^= v.x;)
    b[i][5] = v.x;
    b[i][6] = v.y;
}
