#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_float2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_realtime_clock : require
#extension GL_ARB_shader_clock : require
// Atomics on every kind of memory, barriers of every scope, clocks.
layout(local_size_x = 64) in;
layout(buffer_reference, std430) buffer Ref { uint u; float f; };
layout(set = 0, binding = 0) buffer B { uint u; int i; float f; uint64_t l; Ref ref; uvec2 clock; } b;
shared uint su;
shared int si;
shared float sf;
shared uint64_t sl;

void main() {
    uint u = atomicAdd(b.u, 1u) + atomicMin(b.u, 2u) + atomicMax(b.u, 3u) + atomicAnd(b.u, 4u) + atomicOr(b.u, 5u);
    u += atomicXor(b.u, 6u) + atomicExchange(b.u, 7u) + atomicCompSwap(b.u, 8u, 9u);
    int i = atomicMin(b.i, -1) + atomicMax(b.i, 2);
    float f = atomicAdd(b.f, 1.0) + atomicExchange(b.f, 2.0) + atomicMin(b.f, 3.0) + atomicMax(b.f, 4.0);
    uint64_t l = atomicAdd(b.l, 1ul) + atomicMax(b.l, 2ul) + atomicCompSwap(b.l, 3ul, 4ul);
    u += atomicAdd(su, 1u) + atomicCompSwap(su, 2u, 3u);
    i += atomicMin(si, -1);
    f += atomicAdd(sf, 1.0);
    l += atomicExchange(sl, 5ul);
    u += atomicAdd(b.ref.u, 1u);
    f += atomicAdd(b.ref.f, 1.0);
    u += atomicLoad(b.u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    atomicStore(b.u, 3u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    u += atomicAdd(su, 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    barrier();
    memoryBarrier();
    memoryBarrierBuffer();
    memoryBarrierShared();
    memoryBarrierImage();
    groupMemoryBarrier();
    controlBarrier(gl_ScopeSubgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed);
    b.clock = clock2x32ARB() + clockRealtime2x32EXT();
    b.l = l + clockARB();
    b.u = u;
    b.i = i;
    b.f = f;
}
