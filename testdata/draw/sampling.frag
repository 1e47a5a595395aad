#version 450
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// texels 0 R32G32B32A32_SFLOAT 64 64 combined nearest 4
// step 0.01
// texels 1 R8G8B8A8_UNORM 16 16 combined linear
layout(location = 2) noperspective in vec2 linear_;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(set = 0, binding = 1) uniform sampler2D t;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out vec4 c;
void main() {
    vec2 p = gl_FragCoord.xy / 16.0 + 0.003;
    a = texture(s, p) + texture(s, p * 0.31, 1.0) + textureLod(s, p, 2.0);
    b = texture(t, p * 0.7) * 0.5 + textureGrad(t, p, vec2(0.01, 0.0), vec2(0.0, 0.02));
    c = textureProj(t, vec3(p, 2.0)) + texelFetch(s, ivec2(gl_FragCoord.xy) >> 1, 3) + textureGather(t, p, 2);
}
