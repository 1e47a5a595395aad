#version 450
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// texels 0 R32G32B32A32_SFLOAT 64 64 combined nearest 4
// texels 1 D32_SFLOAT 32 32 shadow nearest
// texels 2 D32_SFLOAT 32 32 shadow nearest 1 2d_array 3
layout(location = 0) in vec3 place;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(set = 0, binding = 1) uniform sampler2DShadow z;
layout(set = 0, binding = 2) uniform sampler2DArrayShadow zs;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    vec2 p = place.xy + 0.0041;
    a = texture(s, p * 0.5) + textureProj(s, vec3(p, 1.0)) + texture(s, p, 0.4) + textureOffset(s, p, ivec2(1, -1));
    b = vec4(texture(z, vec3(p, 0.5)), textureProj(z, vec4(p * 1.5, 0.6, 1.5)), texture(zs, vec4(p.yx, 2.0, 0.4)), 1.0);
}
