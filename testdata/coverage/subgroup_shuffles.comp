#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_quad : require
// grid 4 1 1
// subgroups
// at 0 bits 256
// at 1 zeros 4096
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    uint lane = gl_SubgroupInvocationID, size = gl_SubgroupSize;
    int n = 0;
    b[i][n++] = subgroupShuffle(x, (lane * 3u + 1u) % size);
    b[i][n++] = subgroupShuffle(x, x % size);
    b[i][n++] = subgroupShuffleXor(x, 5u);
    uint up = subgroupShuffleUp(x, 2u);
    b[i][n++] = lane >= 2u ? up : 0u;
    uint down = subgroupShuffleDown(x, 3u);
    b[i][n++] = lane + 3u < size ? down : 0u;
    b[i][n++] = subgroupQuadBroadcast(x, 2u);
    b[i][n++] = subgroupQuadSwapHorizontal(x);
    b[i][n++] = subgroupQuadSwapVertical(x);
    b[i][n++] = subgroupQuadSwapDiagonal(x);
    uvec2 v = subgroupShuffle(uvec2(x, ~x), lane ^ 1u);
    b[i][n++] = v.x + v.y * 3u;
}
