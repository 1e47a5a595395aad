#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
// grid 2 1 1
// at 0 bits 128
// at 1 zeros 64
// at 2 zeros 512
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint64_t a[]; };
layout(set = 0, binding = 1) buffer B { uint64_t b[16]; };
layout(set = 0, binding = 2) buffer C { uint64_t c[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t x = a[i];
    atomicAdd(b[0], x);
    atomicMax(b[1], x);
    atomicOr(b[2], x & 0x0f0f0f0f0f0f0f0ful);
    atomicXor(b[3], x);
    atomicAdd(c[i], x);
    uint64_t old = atomicCompSwap(c[i], x, x ^ 1ul);
    old += atomicExchange(c[i], old + 1ul);
    atomicMin(c[i], old);
    atomicAnd(c[i], 0xfffffffffffffff0ul);
}
