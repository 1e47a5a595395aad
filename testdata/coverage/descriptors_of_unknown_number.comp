#version 450
#extension GL_EXT_nonuniform_qualifier : require
// target vulkan1.2
// grid 2 1 1
// at 0 bits 256
// at 1 zeros 512
// at 2.0 bits 64
// at 2.1 bits 64
// at 2.2 bits 64
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
layout(set = 0, binding = 2) readonly buffer S { uint s[]; } many[];
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    b[i][0] = many[nonuniformEXT(x.x % 3u)].s[x.y & 63u];
    b[i][1] = many[2].s[x.z & 63u];
}
