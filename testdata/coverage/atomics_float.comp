#version 450
#extension GL_EXT_shader_atomic_float : require
// grid 2 1 1
// at 0 floats 128 -4 4
// at 1 zeros 64
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
shared float s;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (gl_LocalInvocationIndex == 0u) s = 0.0;
    barrier();
    atomicAdd(s, a[i]);
    barrier();
    b[i] = s + atomicAdd(b[i], a[i + 64u]) + atomicExchange(b[i], 0.5);
}
