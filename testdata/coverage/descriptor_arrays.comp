#version 450
#extension GL_EXT_nonuniform_qualifier : require
// target vulkan1.2
// grid 2 1 1
// push dwords 1 2 0 3
// at 0 bits 1024
// at 1.0 bits 64
// at 1.1 bits 64
// at 1.2 bits 64
// at 1.3 bits 64
// uniform 2.0 bits 64
// uniform 2.1 bits 64
// uniform 2.2 bits 64
// texels 3.0 R32G32B32A32_SFLOAT 8 8 combined nearest
// texels 3.1 R32G32B32A32_SFLOAT 8 8 combined nearest
// texels 3.2 R32G32B32A32_SFLOAT 8 8 combined nearest
// texels 4.0 R32_UINT 8 8 storage
// texels 4.1 R32_UINT 8 8 storage
// texels 4.2 R32_UINT 8 8 storage
// texel_buffer 5.0 R32_UINT 64 uniform
// texel_buffer 5.1 R32_UINT 64 uniform
// texel_buffer 6.0 R32_UINT 64 storage
// texel_buffer 6.1 R32_UINT 64 storage
// at 7 zeros 2048
layout(local_size_x = 32) in;
layout(push_constant) uniform P { uvec4 pick; };
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer S { uint s[]; } storages[4];
layout(set = 0, binding = 2) uniform U { uvec4 u[16]; } uniforms[3];
layout(set = 0, binding = 3) uniform sampler2D samplers[3];
layout(set = 0, binding = 4, r32ui) uniform uimage2D images[3];
layout(set = 0, binding = 5) uniform usamplerBuffer reads[2];
layout(set = 0, binding = 6, r32ui) uniform uimageBuffer writes[2];
layout(set = 0, binding = 7) buffer B { uint b[][16]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    ivec2 p = ivec2(i & 7u, i >> 3);
    // One descriptor for all lanes.
    b[i][0] = storages[pick.y].s[x.x & 63u];
    b[i][1] = uniforms[pick.x].u[x.x & 15u].z;
    b[i][2] = floatBitsToUint(texelFetch(samplers[pick.y], p, 0).w);
    b[i][3] = imageLoad(images[pick.z], p).x;
    b[i][4] = texelFetch(reads[pick.x], int(i)).x;
    b[i][5] = imageLoad(writes[pick.z], int(i)).x;
    // A different one for each lane.
    b[i][6] = storages[nonuniformEXT(x.w & 3u)].s[x.y & 63u];
    b[i][13] = uint(storages[nonuniformEXT(x.w & 3u)].s.length());
}
