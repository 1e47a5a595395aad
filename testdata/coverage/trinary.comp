#version 450
#extension GL_AMD_shader_trinary_minmax : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// The least, the greatest and the middle one of three, each next to the same by functions of two.
// grid 4 1 1
// at 0 bits 768
// at 1 zeros 2304
// unjudged lavapipe does not know SPV_AMD_shader_trinary_minmax
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec3 u = uvec3(a[3u * i], a[3u * i + 1u], a[3u * i + 2u]);
    ivec3 s = ivec3(u);
    vec3 f = vec3(s) / 1048576.0;
    u16vec2 n = u16vec2(u.xy);
    uint at = 9u * i;
    b[at] = min3(u.x, u.y, u.z);
    b[at + 1u] = max3(u.x, u.y, u.z);
    b[at + 2u] = mid3(u.x, u.y, u.z);
    b[at + 3u] = uint(min3(s.x, s.y, s.z));
    b[at + 4u] = uint(max3(s.x, s.y, s.z));
    b[at + 5u] = uint(mid3(s.x, s.y, s.z));
    b[at + 6u] = floatBitsToUint(min3(f.x, f.y, f.z));
    b[at + 7u] = floatBitsToUint(max3(f.x, f.y, f.z) + dot(mid3(f, f.yzx, f.zxy), vec3(0.25)));
    // Nothing if both ways agree.
    uint sum = min3(n.x, n.y, uint16_t(i)) ^ min(min(n.x, n.y), uint16_t(i));
    sum |= mid3(u.x, u.y, u.z) ^ (u.x ^ u.y ^ u.z ^ min(min(u.x, u.y), u.z) ^ max(max(u.x, u.y), u.z));
    sum |= uint(mid3(s.x, s.y, s.z)) ^ uint(s.x ^ s.y ^ s.z ^ min(min(s.x, s.y), s.z) ^ max(max(s.x, s.y), s.z));
    b[at + 8u] = sum + i;
}
