#version 450
#extension GL_ARB_sparse_texture_clamp : require
// alike: lavapipe has no minimum LOD. If the minimum is the level itself, the texture is unchanged; otherwise the minimum level is read.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// texels 0 R32G32B32A32_SFLOAT 64 64 combined nearest 4
layout(location = 0) in vec3 place;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    vec2 p = place.xy * 0.5 + 0.0041;
    a = textureClampARB(s, p, 0.0) + textureClampARB(s, p, 2.0) + textureGradClampARB(s, p, vec2(0.001), vec2(0.001), 1.0);
    b = texture(s, p) + textureLod(s, p, 2.0) + textureLod(s, p, 1.0);
}
