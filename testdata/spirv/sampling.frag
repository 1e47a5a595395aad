#version 460
#extension GL_ARB_sparse_texture_clamp : enable
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require
// Every sampling instruction, with every shape and image operand that GLSL can express.
layout(location = 0) in vec4 c;
layout(location = 1) flat in ivec4 n;
layout(location = 0) out vec4 o;
layout(set = 0, binding = 0) uniform sampler1D s1;
layout(set = 0, binding = 1) uniform sampler2D s2;
layout(set = 0, binding = 2) uniform sampler3D s3;
layout(set = 0, binding = 3) uniform samplerCube sc;
layout(set = 0, binding = 4) uniform sampler2DArray s2a;
layout(set = 0, binding = 5) uniform samplerCubeArray sca;
layout(set = 0, binding = 6) uniform sampler2DShadow s2s;
layout(set = 0, binding = 7) uniform samplerCubeShadow scs;
layout(set = 0, binding = 8) uniform sampler2DArrayShadow s2as;
layout(set = 0, binding = 9) uniform samplerCubeArrayShadow scas;
layout(set = 0, binding = 10) uniform isampler2D si;
layout(set = 0, binding = 11) uniform usampler2D su;
layout(set = 1, binding = 0) uniform texture2D t[];
layout(set = 1, binding = 1) uniform sampler s;
layout(set = 1, binding = 2) uniform sampler1DArray s1a;
layout(set = 1, binding = 3) uniform sampler1DShadow s1s;

void main() {
    vec4 r = texture(s1, c.x) + texture(s2, c.xy) + texture(s3, c.xyz) + texture(sc, c.xyz);
    r += texture(s2a, c.xyz) + texture(sca, c) + texture(s1a, c.xy) + texture(s2, c.xy, c.z);
    r.x += texture(s2s, c.xyz) + texture(scs, c) + texture(s2as, c) + texture(scas, c, c.x) + texture(s1s, c.xyz);
    r += textureLod(s2, c.xy, 0.0) + textureLod(s2, c.xy, c.z) + textureLod(sc, c.xyz, c.w);
    r.x += textureLod(s2s, c.xyz, 0.0);
    r += textureGrad(s2, c.xy, c.xy, c.zw) + textureGrad(s3, c.xyz, c.xyz, c.yzw) + textureGrad(sc, c.xyz, c.xyz, c.yzw);
    r += textureGrad(s2a, c.xyz, c.xy, c.zw);
    r += textureProj(s1, c.xy) + textureProj(s2, c.xyz) + textureProj(s2, c) + textureProj(s3, c);
    r.x += textureProj(s2s, c);
    r += textureProjLod(s2, c.xyz, c.w) + textureProjGrad(s2, c.xyz, c.xy, c.zw) + textureProjOffset(s2, c.xyz, ivec2(1, 2));
    r += textureOffset(s2, c.xy, ivec2(1, -2)) + textureLodOffset(s2, c.xy, c.z, ivec2(3)) + textureOffset(s2, c.xy, ivec2(0));
    r += textureGather(s2, c.xy) + textureGather(s2, c.xy, 2) + textureGather(s2a, c.xyz, 1) + textureGather(sc, c.xyz, 3);
    r += textureGather(s2s, c.xy, c.z) + textureGather(scs, c.xyz, c.w);
    r += textureGatherOffset(s2, c.xy, n.xy, 1);
    const ivec2 four[4] = {ivec2(0), ivec2(1, 0), ivec2(0, 1), ivec2(-1)};
    r += textureGatherOffsets(s2, c.xy, four, 1) + textureGatherOffsets(s2s, c.xy, c.z, four);
    r += textureClampARB(s2, c.xy, c.z);
    r += vec4(texture(si, c.xy)) + vec4(texture(su, c.xy)) + vec4(textureGather(si, c.xy, 1));
    r += texture(sampler2D(t[2], s), c.xy) + texture(nonuniformEXT(sampler2D(t[n.x], s)), c.xy);
    r += texelFetch(s1, n.x, 0) + texelFetch(s2, n.xy, 0) + texelFetch(s2, n.xy, n.z) + texelFetch(s3, n.xyz, n.w);
    r += texelFetch(s2a, n.xyz, n.w) + texelFetchOffset(s2, n.xy, n.z, ivec2(1, 2));
    r += vec4(texelFetch(si, n.xy, 0)) + texelFetch(sampler2D(t[1], s), n.xy, 0) + texelFetch(t[n.x], n.xy, 1);
    r.xy += textureQueryLod(s2, c.xy) + textureQueryLod(sc, c.xyz) + textureQueryLod(s2a, c.xy);
    o = r;
}
