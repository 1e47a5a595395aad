#version 450
#extension GL_EXT_samplerless_texture_functions : require
// Separate images and samplers that share a binding: each reads its half of a combined descriptor.
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 16 16 combined linear
// texels 1.0 R32G32B32A32_SFLOAT 8 8 combined nearest
// texels 1.1 R32G32B32A32_SFLOAT 8 8 combined linear
// texels 1.2 R32G32B32A32_SFLOAT 8 8 combined linear
// texels 2 R32G32B32A32_SFLOAT 16 16 combined linear
// at 3 zeros 2048
// push dwords 2
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform P { uint pick; };
layout(set = 0, binding = 0) uniform texture2D image;
layout(set = 0, binding = 0) uniform sampler its_sampler;
// Arrays of two lengths.
layout(set = 0, binding = 1) uniform texture2D images[3];
layout(set = 0, binding = 1) uniform sampler samplers[2];
// A combined descriptor, and its image again.
layout(set = 0, binding = 2) uniform sampler2D both;
layout(set = 0, binding = 2) uniform texture2D half_;
layout(set = 0, binding = 3) buffer B { vec4 b[][8]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec2 p = vec2(gl_LocalInvocationID.xy) / 8.0 + 0.017;
    b[i][0] = textureLod(sampler2D(image, its_sampler), p, 0.0);
    b[i][1] = textureLod(sampler2D(images[2], samplers[0]), p * 1.3, 0.0);
    b[i][2] = textureLod(sampler2D(images[0], samplers[1]), p.yx * 0.7, 0.0);
    b[i][3] = texelFetch(images[pick], ivec2(gl_LocalInvocationID.xy), 0);
    b[i][4] = textureLod(both, p * 0.9, 0.0);
    b[i][5] = texelFetch(half_, ivec2(gl_LocalInvocationID.xy), 0);
    b[i][6] = textureLod(sampler2D(half_, its_sampler), p * 1.1, 0.0);
}
