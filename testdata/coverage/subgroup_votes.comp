#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
// grid 4 1 1
// subgroups
// at 0 bits 256
// at 1 zeros 8192
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    int n = 0;
    b[i][n++] = gl_SubgroupSize + 100u * gl_SubgroupInvocationID + 10000u * gl_SubgroupID + 1000000u * gl_NumSubgroups;
    b[i][n++] = uint(subgroupElect());
    b[i][n++] = uint(subgroupAll((x & 15u) != 0u)) + 2u * uint(subgroupAny((x & 15u) == 0u)) + 4u * uint(subgroupAllEqual(x & 1u));
    uvec4 m = subgroupBallot((x & 3u) != 0u);
    b[i][n++] = m.x ^ m.y;
    b[i][n++] = m.z + m.w;
    b[i][n++] = subgroupBallotBitCount(m);
    b[i][n++] = subgroupBallotInclusiveBitCount(m);
    b[i][n++] = subgroupBallotExclusiveBitCount(m);
    if ((x & 3u) != 0u) {
        b[i][n++] = subgroupBallotFindLSB(m) + 100u * subgroupBallotFindMSB(m);
        b[i][n++] = uint(subgroupElect());
        b[i][n++] = subgroupBroadcastFirst(x);
        b[i][n++] = uint(subgroupAllEqual(x & 3u));
        b[i][n++] = subgroupBallot(true).x;
    }
    n = 20;
    b[i][n++] = uint(subgroupInverseBallot(m)) + 2u * uint(subgroupBallotBitExtract(m, x & 7u));
    b[i][n++] = subgroupBroadcast(x, 3u);
    b[i][n++] = gl_SubgroupEqMask.x ^ gl_SubgroupGeMask.x;
    b[i][n++] = gl_SubgroupLtMask.x ^ gl_SubgroupLeMask.x * 3u;
    b[i][n++] = gl_SubgroupGtMask.x + gl_SubgroupGtMask.y;
    // Lanes leave a loop one by one, and reconverge after it.
    uint k = 0u;
    for (uint r = x & 3u; r > 0u; --r) k += subgroupBallot(true).x;
    b[i][n++] = k;
    b[i][n++] = subgroupBallot(k > 200u).x;
}
