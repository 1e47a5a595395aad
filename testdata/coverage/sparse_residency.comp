#version 450
#extension GL_ARB_sparse_texture2 : require
#extension GL_NV_compute_shader_derivatives : require
// Reads with residency codes. The first and the last level of one image have no memory.
// grid 2 1 1
// unjudged lavapipe 22.3 has no sparse images
// at 0 zeros 3840
// at 6 zeros 960
// at 1 floats 64 -2 2
// texels 2 R32G32B32A32_SFLOAT 16 8 combined linear 4
// absent 2 0
// absent 2 3
// texels 3 D32_SFLOAT 16 8 shadow linear
// texels 4 R32G32B32A32_SFLOAT 8 8 storage
// texels 5 R32_UINT 8 8 combined nearest
layout(local_size_x = 32) in;
layout(derivative_group_linearNV) in;
layout(set = 0, binding = 0) buffer Out { vec4 out_[]; };
layout(set = 0, binding = 6) buffer Codes { uint resident[]; };
layout(set = 0, binding = 1) readonly buffer In { float given[]; };
layout(set = 0, binding = 2) uniform sampler2D image;
layout(set = 0, binding = 3) uniform sampler2DShadow shadow;
layout(set = 0, binding = 4, rgba32f) readonly uniform image2D texels;
layout(set = 0, binding = 5) uniform usampler2D numbers;
void put(uint row, int code, vec4 texel) {
    uint at = row * 64u + gl_GlobalInvocationID.x;
    out_[at] = texel;
    resident[at] = (sparseTexelsResidentARB(code) ? 1u : 2u) + 4u * at;
}
void main() {
    float x = given[gl_GlobalInvocationID.x];
    vec2 at = vec2(x, x * x * 0.3);
    ivec2 p = ivec2(gl_GlobalInvocationID.x & 7u, gl_GlobalInvocationID.x >> 3u);
    vec4 t = vec4(0.0);
    float f = 0.0;
    uvec4 n = uvec4(0u);
    put(0u, sparseTextureARB(image, at, t), t);
    put(1u, sparseTextureLodARB(image, at, 1.5, t), t);
    put(2u, sparseTextureGradARB(image, at, vec2(0.3, 0.1), vec2(0.05, 0.2), t), t);
    put(3u, sparseTextureOffsetARB(image, at, ivec2(1, -2), t), t);
    put(4u, sparseTexelFetchARB(image, p, 1, t), t);
    put(5u, sparseTextureGatherARB(image, at, t, 2), t);
    put(6u, sparseTextureGatherOffsetsARB(image, at, ivec2[](ivec2(0, 1), ivec2(2, 3), ivec2(-1, -4), ivec2(1, 1)), t, 1), t);
    put(7u, sparseImageLoadARB(texels, p, t), t);
    int code = sparseTextureARB(shadow, vec3(at, 0.4), f);
    put(8u, code, vec4(f, 1.0, 2.0, 3.0));
    code = sparseTextureLodARB(shadow, vec3(at, 0.6), 0.0, f);
    put(9u, code, vec4(f, 4.0, 5.0, 6.0));
    put(10u, sparseTextureGatherARB(shadow, at, 0.5, t), t);
    code = sparseTexelFetchARB(numbers, p, 0, n);
    put(11u, code, vec4(n & 0xffffu));
    put(12u, sparseTexelFetchARB(image, p, 0, t), t);
    put(13u, sparseTextureLodARB(image, at, 0.5, t), t);
    put(14u, sparseTextureLodARB(image, at, 7.0, t), t);
}
