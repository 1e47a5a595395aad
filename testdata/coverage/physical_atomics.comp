#version 450
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_KHR_memory_scope_semantics : require
// target vulkan1.2
// grid 2 1 1
// push zeros 6
// pointer push 0 10 0
// pointer push 8 11 16
// pointer push 16 12 0
// physical 10 bits 256
// physical 11 bits 768
// physical 12 zeros 1030
// Atomics by address: 32 and 64 bits, floats, with and without use of the old value.
layout(local_size_x = 32) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word { uint value; int less; float real; uint spare; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Long { uint64_t value; int64_t less; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Out {
    uint old[64][8]; uint64_t wide[64][4]; uint most; uint last; uint any; uint odd; uint sum;
};
layout(push_constant) uniform P { Word words; Long longs; Out result; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    Word mine = p.words + int(i);
    p.result.old[i][0] = atomicAdd(mine.value, 0x10001u * i);
    p.result.old[i][1] = uint(atomicMin(mine.less, int(i) - 20));
    p.result.old[i][2] = atomicExchange(mine.value, i);
    mine.real = 0.25 * float(i);
    p.result.old[i][3] = floatBitsToUint(atomicAdd(mine.real, 1.5));
    p.result.old[i][4] = atomicCompSwap(mine.value, i & ~1u, 77u);
    p.result.old[i][5] = uint(atomicMax(mine.less, -3));
    p.result.old[i][6] = atomicLoad(mine.value, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    atomicStore(mine.value, i * 3u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    p.result.old[i][7] = atomicAnd(mine.spare, 0x00ff00ffu) ^ atomicOr(mine.spare, i) ^ atomicXor(mine.spare, ~i);

    Long wide = p.longs + int(i);
    p.result.wide[i][0] = atomicAdd(wide.value, 0x100000001ul * uint64_t(i));
    p.result.wide[i][1] = atomicExchange(wide.value, uint64_t(i) << 33);
    p.result.wide[i][2] = atomicCompSwap(wide.value, uint64_t(i & ~1u) << 33, 5ul);
    p.result.wide[i][3] = uint64_t(atomicMin(wide.less, -int64_t(i)));

    // All lanes access the same words, in any order.
    atomicMax(p.result.most, i * 7u % 64u);
    atomicMax(p.result.last, 64u - i);
    atomicOr(p.result.any, 1u << (i & 15u));
    atomicAdd(p.result.sum, i);
    atomicXor(p.result.odd, i << 8);
}
