#version 450
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 16 16 storage
// texels 1 R32_UINT 16 16 storage
// texels 2 R32G32B32A32_SFLOAT 16 8 sampled
// texels 3 R8G8B8A8_UNORM 16 16 combined linear
// texels 4 R32_SFLOAT 8 8 combined nearest
// texel_buffer 5 R32_UINT 64 storage
// texel_buffer 6 R32G32B32A32_SFLOAT 64 uniform
// at 7 zeros 4096
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform image2D a;
layout(set = 0, binding = 1, r32ui) uniform uimage2D c;
layout(set = 0, binding = 2) uniform texture2D d;
layout(set = 0, binding = 3) uniform sampler2D e;
layout(set = 0, binding = 4) uniform sampler2D g;
layout(set = 0, binding = 5, r32ui) uniform uimageBuffer h;
layout(set = 0, binding = 6) uniform samplerBuffer k;
layout(set = 0, binding = 7) buffer B { vec4 b[][8]; };
#extension GL_EXT_samplerless_texture_functions : require
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    uint i = gl_LocalInvocationIndex;
    vec4 x = imageLoad(a, p);
    imageStore(a, p + 8, x * 2.0);
    imageAtomicAdd(c, p & 3, 5u);
    imageAtomicXor(c, p + ivec2(8, 0), 0xff00ffu);
    imageStore(c, p + ivec2(0, 8), imageLoad(c, p + 8) + 1u);
    b[i][0] = texelFetch(d, p, 0);
    b[i][1] = vec4(textureSize(d, 0), imageSize(a));
    b[i][2] = textureLod(e, vec2(p) * 0.11 - 0.2, 0.0);
    b[i][3] = texture(g, vec2(p) * 0.13 + 0.01);
    b[i][4] = vec4(textureSize(k), imageSize(h), textureQueryLevels(e), 1.0);
    b[i][5] = texelFetch(k, int(i));
    imageStore(h, int(i), imageLoad(h, int(i)) * 3u);
    b[i][6] = textureGather(e, vec2(p) * 0.11 + 0.03, 1);
    b[i][7] = textureLodOffset(e, vec2(p) * 0.07, 0.0, ivec2(1, -2));
}
