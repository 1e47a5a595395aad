#version 450
// Only one texture: for these operations lavapipe always uses the first of several.
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 16 16 combined nearest
// at 1 zeros 512
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(set = 0, binding = 1) buffer B { vec4 b[][2]; };
const ivec2 around[4] = ivec2[](ivec2(0, 1), ivec2(-2, 0), ivec2(3, -3), ivec2(1, 1));
void main() {
    uint i = gl_LocalInvocationIndex;
    vec2 p = vec2(gl_LocalInvocationID.xy) / 8.0 + 0.031;
    b[i][0] = textureGatherOffsets(s, p, around, 1);
    b[i][1] = textureGatherOffset(s, p, ivec2(1, 2), 2);
}
