#version 450
// grid 4 1 1
// at 0 bits 128
// at 1 zeros 16
// at 2 zeros 512
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[16]; };
layout(set = 0, binding = 2) buffer C { uint c[]; };
shared uint s[8];
shared int t[2];
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    if (gl_LocalInvocationIndex == 0u) {
        s[0] = 0u; s[1] = 0xffffffffu; s[2] = 0u; s[3] = 0xffffffffu; s[4] = 0u; s[5] = 0u; s[6] = 5u; s[7] = 0u;
        t[0] = 0; t[1] = 0;
    }
    barrier();
    atomicAdd(b[0], x);
    atomicMax(b[1], x);
    atomicOr(b[2], x & 0x0f0f0f0fu);
    atomicXor(b[3], x);
    atomicAdd(b[4], -1);
    // One of them sees each count.
    uint turn = atomicAdd(b[5], 1u);
    atomicExchange(c[turn], 1u);
    atomicAdd(s[0], x);
    atomicMin(s[1], x);
    atomicMax(s[2], x);
    atomicAnd(s[3], x | 0xff00ff00u);
    atomicOr(s[4], x & 0x00ff00ffu);
    atomicXor(s[5], x);
    atomicMin(t[0], int(x));
    atomicMax(t[1], int(x));
    atomicCompSwap(s[6], 5u, 6u);
    atomicExchange(s[7], 3u);
    barrier();
    uint l = gl_LocalInvocationIndex;
    if (l < 8u) c[128u + gl_WorkGroupID.x * 10u + l] = s[l];
    else if (l < 10u) c[128u + gl_WorkGroupID.x * 10u + l] = uint(t[l - 8u]);
    // Without interference the old value is known.
    uint own = 256u + i;
    atomicAdd(c[own], x);
    uint old = atomicCompSwap(c[own], x, x ^ 1u);
    old ^= atomicExchange(c[own], old + 1u);
    atomicAdd(c[own], old);
    atomicMin(c[own], 0xf0000000u);
    atomicAnd(c[own], 0xfffffff0u);
}
