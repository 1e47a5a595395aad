#version 450
#extension GL_AMD_texture_gather_bias_lod : require
// alike: lavapipe does not know the extension. A pixel is two texels of the base level wide, so the implicit level is 1.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// texels 0 R32G32B32A32_SFLOAT 256 256 combined nearest 4
layout(set = 0, binding = 0) uniform sampler2D s;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
vec4 four(vec2 p, int level, int component) {
    ivec2 first = ivec2(floor(p * vec2(textureSize(s, level)) - 0.5));
    return vec4(texelFetch(s, first + ivec2(0, 1), level)[component], texelFetch(s, first + ivec2(1, 1), level)[component],
        texelFetch(s, first + ivec2(1, 0), level)[component], texelFetch(s, first, level)[component]);
}
void main() {
    vec2 p = (gl_FragCoord.xy * 2.0 + 8.6) / 256.0;
    float level = floor(gl_FragCoord.x * 0.25);
    a = textureGather(s, p) + textureGather(s, p, 2, 1.0) * 3.0 + textureGather(s, p, 1, -1.0);
    a += textureGatherLodAMD(s, p, min(level, 3.0), 3) * 5.0;
    b = four(p, 1, 0) + four(p, 2, 2) * 3.0 + four(p, 0, 1) + four(p, int(min(level, 3.0)), 3) * 5.0;
}
