#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_quad : require
// What depends on the subgroup's size is computed and not used; quads are the same in any subgroup.
// grid 2 1 1
// at 0 bits 256
// at 1 zeros 1024
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
uint next(uint x, uint size, uint lane) { return x * 3u + 1u; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = next(a[i & 63u], gl_SubgroupSize, gl_SubgroupInvocationID) ^ subgroupQuadSwapHorizontal(i) ^ subgroupQuadBroadcast(i, 2u);
}
