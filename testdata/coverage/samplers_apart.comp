#version 450
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 16 16 sampled
// texels 1 R32G32B32A32_SFLOAT 16 16 sampled
// sampler 2 linear
// sampler 3 nearest
// at 4 zeros 2048
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform texture2D t;
layout(set = 0, binding = 1) uniform texture2D u;
layout(set = 0, binding = 2) uniform sampler smooth_;
layout(set = 0, binding = 3) uniform sampler sharp;
layout(set = 0, binding = 4) buffer B { vec4 b[][8]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec2 p = vec2(gl_LocalInvocationID.xy) / 8.0 + 0.017;
    b[i][0] = textureLod(sampler2D(t, smooth_), p, 0.0);
    b[i][1] = textureLod(sampler2D(t, sharp), p * 1.3, 0.0);
    b[i][2] = textureLod(sampler2D(u, smooth_), p.yx * 0.7, 0.0);
    b[i][3] = textureGather(sampler2D(u, sharp), p, 3);
}
