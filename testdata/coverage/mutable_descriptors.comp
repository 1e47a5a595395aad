#version 450
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require
// Bindings whose elements are of several kinds.
// target vulkan1.2
// unjudged lavapipe 22.3 does not have VK_EXT_mutable_descriptor_type
// grid 2 1 1
// push dwords 2 4 5 6
// at 0 bits 256
// at 1 zeros 1024
// uniform 2.0 bits 64
// at 2.1 bits 64
// texels 2.2 R32_UINT 8 8 sampled
// texel_buffer 2.3 R32_UINT 64 uniform
// texels 2.4 R32_UINT 8 8 storage
// texel_buffer 2.5 R32_UINT 64 storage
// at 2.6 bits 64
// at 3.0 bits 64
// texels 3.1 R32G32B32A32_SFLOAT 8 8 combined linear
// at 3.2 bits 64
// sampler 4.0 nearest
// at 4.1 bits 64
layout(local_size_x = 32) in;
layout(push_constant) uniform P { uvec4 pick; };
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
// A heap of everything except samplers.
layout(set = 0, binding = 2) uniform U { uvec4 u[16]; } uniforms[];
layout(set = 0, binding = 2) readonly buffer S { uint s[]; } buffers[];
layout(set = 0, binding = 2) uniform utexture2D images[];
layout(set = 0, binding = 2) uniform utextureBuffer texels[];
layout(set = 0, binding = 2, r32ui) uniform uimage2D storage_images[];
layout(set = 0, binding = 2, r32ui) uniform uimageBuffer storage_texels[];
// An image, its sampler, and buffers.
layout(set = 0, binding = 3) readonly buffer T { uint t[]; } others[3];
layout(set = 0, binding = 3) uniform texture2D image[3];
layout(set = 0, binding = 3) uniform sampler its_sampler[2];
// A sampler and a buffer.
layout(set = 0, binding = 4) uniform sampler sharp[1];
layout(set = 0, binding = 4) readonly buffer V { uint v[]; } last[2];
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    ivec2 p = ivec2(i & 7u, i >> 3 & 7u);
    vec2 q = vec2(p) / 8.0 + 0.017;
    b[i][0] = uniforms[0].u[x.x & 15u].y;
    b[i][1] = buffers[1].s[x.y & 63u];
    // Two lanes use different buffers.
    b[i][2] = buffers[nonuniformEXT((x.z & 1u) == 0u ? 1u : 6u)].s[x.w & 63u];
    b[i][3] = texelFetch(images[pick.x], p, 0).x;
    b[i][4] = texelFetch(texels[3], int(x.x & 63u)).x;
    b[i][5] = imageLoad(storage_images[pick.y], p).x;
    b[i][6] = imageLoad(storage_texels[pick.z], int(i)).x;
    b[i][7] = buffers[pick.w].s.length();
    b[i][8] = others[0].t[x.z & 63u] + others[2].t[x.w & 63u];
    b[i][9] = floatBitsToUint(textureLod(sampler2D(image[1], its_sampler[1]), q, 0.0).x);
    b[i][10] = floatBitsToUint(textureLod(sampler2D(image[1], sharp[0]), q * 1.3, 0.0).y);
    b[i][11] = last[1].v[x.x & 63u];
    imageStore(storage_images[4], p, uvec4(x.x + b[i][5]));
    imageStore(storage_texels[5], int(i), uvec4(x.y));
}
