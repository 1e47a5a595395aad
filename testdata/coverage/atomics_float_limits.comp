#version 450
#extension GL_EXT_shader_atomic_float2 : require
// grid 2 1 1
// at 0 floats 128 -100 100
// at 1 zeros 512
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
shared float low[4], high[4];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    if (l < 4u) { low[l] = 50.0; high[l] = -50.0; }
    barrier();
    b[64u + i] = a[i] * 2.0;
    b[192u + i] = a[i] + 1.0;
    atomicMin(low[l & 3u], a[i]);
    atomicMax(high[l & 3u], a[i]);
    atomicMin(b[i & 15u], a[i]);
    atomicMax(b[16u + (i & 15u)], a[i]);
    barrier();
    if (l < 4u) { b[32u + gl_WorkGroupID.x * 8u + l] = low[l]; b[36u + gl_WorkGroupID.x * 8u + l] = high[l]; }
}
