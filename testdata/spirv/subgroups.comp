#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
#extension GL_ARB_gpu_shader_int64 : require
// Every subgroup instruction of Vulkan 1.1, and the older ones.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer B { vec4 f[4]; ivec4 i[4]; uvec4 u[4]; uint64_t l; } b;

void main() {
    uint lane = gl_SubgroupInvocationID;
    vec4 f = b.f[0];
    ivec4 i = b.i[0];
    uvec4 u = b.u[0];
    bvec2 t = lessThan(f.xy, f.zw);
    uvec4 mask = subgroupBallot(t.x);
    uvec4 r = mask;
    if (subgroupElect() || subgroupAll(t.x) || subgroupAny(t.y)) r += 1u;
    if (subgroupAllEqual(f) || subgroupAllEqual(u.x) || subgroupAllEqual(t.x)) r += 2u;
    if (subgroupInverseBallot(mask) || subgroupBallotBitExtract(mask, u.x)) r += 3u;
    r.x += subgroupBallotBitCount(mask) + subgroupBallotInclusiveBitCount(mask) + subgroupBallotExclusiveBitCount(mask);
    r.x += subgroupBallotFindLSB(mask) + subgroupBallotFindMSB(mask);
    f += subgroupBroadcast(f, 3) + subgroupBroadcastFirst(f);
    f += subgroupShuffle(f, lane ^ 5) + subgroupShuffleXor(f, 4) + subgroupShuffleUp(f, 1) + subgroupShuffleDown(f, 2);
    f += subgroupAdd(f) + subgroupMul(f) + subgroupMin(f) + subgroupMax(f);
    i += subgroupAdd(i) + subgroupMul(i) + subgroupMin(i) + subgroupMax(i) + subgroupAnd(i) + subgroupOr(i) + subgroupXor(i);
    u += subgroupMin(u) + subgroupMax(u);
    f += subgroupInclusiveAdd(f) + subgroupInclusiveMul(f) + subgroupInclusiveMin(f) + subgroupExclusiveAdd(f);
    u += subgroupInclusiveMax(u) + subgroupExclusiveMin(u) + subgroupExclusiveXor(u);
    f += subgroupClusteredAdd(f, 4) + subgroupClusteredMax(f, 16);
    f += subgroupQuadBroadcast(f, 2) + subgroupQuadSwapHorizontal(f) + subgroupQuadSwapVertical(f) + subgroupQuadSwapDiagonal(f);
    bvec2 all = subgroupAnd(t);
    if (all.x || subgroupOr(t.x) || subgroupXor(t.y)) r += 4u;
    b.l = ballotARB(t.x);
    f += readInvocationARB(f, 2u) + readFirstInvocationARB(f);
    if (anyInvocationARB(t.x) || allInvocationsARB(t.y) || allInvocationsEqualARB(t.x)) r += 5u;
    r += gl_SubgroupEqMask + gl_SubgroupLtMask;
    b.f[lane & 3] = f;
    b.i[1] = i;
    b.u[1] = u + r;
}
