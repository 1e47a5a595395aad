#version 450
#extension GL_EXT_device_group : require
// grid 3 2 2
// at 0 bits 256
// at 1 zeros 4096
layout(local_size_x = 4, local_size_y = 2, local_size_z = 2) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
void main() {
    uvec3 g = gl_GlobalInvocationID;
    uint i = (g.z * 4u + g.y) * 12u + g.x, x = a[i];
    b[i][0] = x + uint(gl_DeviceIndex);
    b[i][1] = gl_NumWorkGroups.x | gl_NumWorkGroups.y << 8 | gl_NumWorkGroups.z << 16;
    b[i][2] = gl_WorkGroupID.x | gl_WorkGroupID.y << 8 | gl_WorkGroupID.z << 16;
    b[i][3] = gl_LocalInvocationID.x | gl_LocalInvocationID.y << 8 | gl_LocalInvocationID.z << 16;
    b[i][4] = gl_LocalInvocationIndex + gl_WorkGroupSize.y * 100u;
}
