#version 460
#extension GL_EXT_shader_image_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require
// Storage images, texel buffers, multisampled images, texel atomics and queries.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, rgba8) uniform image2D i2;
layout(set = 0, binding = 1, r32f) uniform coherent image3D i3;
layout(set = 0, binding = 2, rgba16f) uniform imageCubeArray ica;
layout(set = 0, binding = 3, r32ui) uniform uimage2D u2;
layout(set = 0, binding = 4, r32i) uniform iimage2DArray i2a;
layout(set = 0, binding = 5, r64ui) uniform u64image2D l2;
layout(set = 0, binding = 6, rgba32f) uniform imageBuffer ib;
layout(set = 0, binding = 7, r32ui) uniform uimageBuffer ub;
layout(set = 0, binding = 8) uniform writeonly image2D w2[4];
layout(set = 0, binding = 9, r32f) uniform image2D f2;
layout(set = 0, binding = 10, rgba8) uniform image1DArray i1a;
layout(set = 1, binding = 0) uniform sampler2DMS ms;
layout(set = 1, binding = 1) uniform sampler2DMSArray msa;
layout(set = 1, binding = 2) uniform samplerBuffer sb;
layout(set = 1, binding = 3) uniform texture2DArray ta;
layout(set = 1, binding = 4) uniform samplerCubeArray sca;
layout(set = 1, binding = 5) uniform utextureBuffer tb;
layout(set = 1, binding = 6) uniform sampler1DArray s1a;
layout(set = 2, binding = 0) buffer B { vec4 f; ivec4 i; uvec4 u; uint64_t l; } b;

void main() {
    ivec4 n = b.i;
    vec4 r = imageLoad(i2, n.xy) + imageLoad(i3, n.xyz) + imageLoad(ica, n.xyz) + imageLoad(ib, n.x) + imageLoad(i1a, n.xy);
    b.l = imageLoad(l2, n.xy).x + imageAtomicAdd(l2, n.xy, b.l);
    imageStore(i2, n.xy, r);
    imageStore(i3, n.xyz, r);
    imageStore(ica, n.xyz, r);
    imageStore(ib, n.x, r);
    imageStore(u2, n.xy, b.u);
    imageStore(w2[1], n.xy, r);
    imageStore(w2[nonuniformEXT(n.z)], n.xy, r);
    imageStore(l2, n.xy, u64vec4(b.l));
    uint u = imageAtomicAdd(u2, n.xy, 1u) + imageAtomicExchange(u2, n.xy, b.u.x) + imageAtomicCompSwap(u2, n.xy, b.u.x, b.u.y);
    u += imageAtomicMin(u2, n.xy, b.u.x) + imageAtomicMax(u2, n.xy, b.u.x) + imageAtomicAnd(u2, n.xy, b.u.x);
    u += imageAtomicOr(u2, n.xy, b.u.x) + imageAtomicXor(u2, n.xy, b.u.x) + imageAtomicAdd(ub, n.x, 3u);
    int i = imageAtomicMin(i2a, n.xyz, n.w) + imageAtomicMax(i2a, n.xyz, n.w);
    r.x += imageAtomicAdd(f2, n.xy, 1.0) + imageAtomicExchange(f2, n.xy, 1.0);
    r += texelFetch(ms, n.xy, n.z) + texelFetch(msa, n.xyz, n.w) + texelFetch(sb, n.x) + vec4(texelFetch(tb, n.x));
    ivec4 q = ivec4(textureSize(ms), imageSize(i2)) + imageSize(i3).xyzz + imageSize(ica).xyzz + textureSize(ta, n.x).xyzz;
    q += textureSize(sca, 0).xyzz + ivec4(textureSize(sb), imageSize(ib), textureSize(s1a, n.x)) + imageSize(i1a).xyxy;
    q += ivec4(textureQueryLevels(ta), textureQueryLevels(sca), textureSamples(ms), textureSamples(msa));
    b.f = r;
    b.i = q + i;
    b.u.x = u;
}
