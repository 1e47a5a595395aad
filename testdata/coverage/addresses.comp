#version 450
#extension GL_EXT_nonuniform_qualifier : require
// grid 2 1 1
// at 0 bits 64
// at 1 zeros 1024
// at 2.0 bits 64
// at 2.1 bits 64
// at 2.2 bits 64
// at 2.3 bits 64
// texels 3 R32_UINT 8 8 sampled
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
layout(set = 0, binding = 2) buffer D { uint d[]; } many[4];
layout(set = 0, binding = 3) uniform utexture2D pictures[1];
#extension GL_EXT_samplerless_texture_functions : require
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint k = a[i] & 3u;
    b[i][0] = many[nonuniformEXT(k)].d[i];
    many[nonuniformEXT(k)].d[i] = a[i] * 5u;
    b[i][1] = uint(many[nonuniformEXT(k)].d.length());
    b[i][2] = texelFetch(pictures[0], ivec2(i & 7u, i >> 3), 0).x;
    b[i][3] = atomicXor(many[nonuniformEXT(3u - k)].d[i], a[i]);
}
