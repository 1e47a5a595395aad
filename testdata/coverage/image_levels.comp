#version 450
#extension GL_AMD_shader_image_load_store_lod : require
// Texels of storage images by level: constant ones, those that lanes disagree on, and the base level.
// grid 1 1 1
// texels 0 R32_UINT 16 16 storage nearest 4
// texels 1 R32G32_SFLOAT 16 16 storage nearest 3 2d_array 2
// texels 2 R32_UINT 16 16 storage nearest 3
// at 3 zeros 256
// at 4 bits 64
// unjudged lavapipe does not know SPV_AMD_shader_image_load_store_lod
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, r32ui) readonly uniform uimage2D plain;
layout(set = 0, binding = 1, rg32f) readonly uniform image2DArray layers;
layout(set = 0, binding = 2, r32ui) writeonly uniform uimage2D target;
layout(set = 0, binding = 3) writeonly buffer B { uint b[]; };
layout(set = 0, binding = 4) readonly buffer A { uint a[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    int level = int(a[i] & 3u);
    ivec2 at = ivec2(i & 1u, i >> 1 & 1u);
    uint found = imageLoadLodAMD(plain, at, level).x;
    b[4u * i] = found;
    b[4u * i + 1u] = imageLoadLodAMD(plain, ivec2(i & 7u, i >> 3), 1).x;
    vec2 pair = imageLoadLodAMD(layers, ivec3(at, i >> 5), level >> 1).xy;
    b[4u * i + 2u] = floatBitsToUint(pair.x + imageLoadLodAMD(layers, ivec3(at, 1), 0).y);
    b[4u * i + 3u] = floatBitsToUint(pair.y);
    imageStoreLodAMD(target, ivec2(i & 7u, i >> 3), 1, uvec4(a[i]));
    if (i < 16u) {
        imageStoreLodAMD(target, ivec2(i & 3u, i >> 2), 2, uvec4(~a[i]));
    } else {
        imageStoreLodAMD(target, ivec2(i & 15u, i >> 4), 0, uvec4(a[i] >> 1));
    }
}
