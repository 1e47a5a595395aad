#version 450
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_demote_to_helper_invocation : require
// target vulkan1.2
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
// extent 16 16
// push zeros 6
// pointer push 0 10 0
// pointer push 8 11 0
// pointer push 16 10 256
// physical 10 floats 1088 -1 1
// physical 11 zeros 512
// Loads by address in helper invocations; stores and atomics of demoted invocations are dropped.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Floats { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint at[256]; uint count[256]; };
layout(push_constant) uniform P { Floats floats; Words words; Floats further; } p;
layout(location = 0) out vec4 a;
layout(location = 1) out uvec4 b;
void main() {
    uvec2 at = uvec2(gl_FragCoord.xy);
    uint n = at.y * 16u + at.x;
    vec4 loaded = p.floats.at[n];
    a = vec4(dFdxFine(float(n * n)), dFdyFine(float(n)) + loaded.y, p.further.at[n].zw);
    if (n % 5u == 2u) demote;
    uint before = atomicAdd(p.words.count[n], floatBitsToUint(loaded.x) >> 20);
    p.words.at[n] = n * 3u + 1u;
    Floats either = (at.x & 4u) != 0u ? p.floats : p.further;
    b = uvec4(before, n, floatBitsToUint(either.at[n & 63u].x), p.words.count[n]);
}
