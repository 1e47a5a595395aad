#version 450
// grid 2 1 1
// at 0 bits 1024
// texels 1.0 R8G8B8A8_UNORM 8 8 combined nearest 1 2d 1 b1rg
// texels 1.1 R32G32B32A32_SFLOAT 8 8 combined linear 2 2d 1 abgr
// texels 2 R8G8B8A8_UINT 8 8 combined nearest 1 2d 1 0aab
// texels 3 B8G8R8A8_UNORM 8 8 combined linear 1 2d 1 g0r1
// texels 4 D32_SFLOAT 8 8 shadow nearest 1 2d 1 r001
// texels 5 R32_SFLOAT 8 8 combined nearest 1 2d 1 1rra
// at 6 zeros 8192
// Views whose components are others, or constants, of those that the image has.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) uniform sampler2D floats[2];
layout(set = 0, binding = 2) uniform usampler2D integers;
layout(set = 0, binding = 3) uniform sampler2D swapped;
layout(set = 0, binding = 4) uniform sampler2DShadow depths;
layout(set = 0, binding = 5) uniform sampler2D one;
layout(set = 0, binding = 6) buffer O { vec4 o[]; };
vec4 bytes(vec4 x) { return floor(x * 255.0 + 0.5); }
void main()
{
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i & 31];
    ivec2 at = ivec2(x.xy & 7u);
    vec2 place = (vec2(at) + vec2(0.5)) / 8.0;
    o[i * 8] = bytes(texelFetch(floats[0], at, 0));
    o[i * 8 + 1] = textureLod(floats[1], place + vec2(0.03125, 0.0), float(x.z & 1u));
    o[i * 8 + 2] = vec4(texelFetch(integers, at, 0));
    o[i * 8 + 3] = bytes(texelFetch(swapped, at, 0)) + 256.0 * bytes(texelFetch(swapped, at.yx, 0));
    // The component of a gather is one of the view.
    o[i * 8 + 4] = bytes(textureGather(floats[0], place + vec2(0.0625), 0)) + 256.0 * bytes(textureGather(floats[0], place + vec2(0.0625), 1));
    o[i * 8 + 5] = bytes(textureGather(swapped, place + vec2(0.0625), 2)) + 256.0 * vec4(textureGather(integers, place + vec2(0.0625), 3));
    o[i * 8 + 6] = vec4(textureLod(depths, vec3(place, float(x.w & 255u) / 255.0), 0.0), textureGather(depths, place + vec2(0.0625), 0.5).xyz);
    o[i * 8 + 7] = texelFetch(one, at, 0);
}
