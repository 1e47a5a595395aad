#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
// Properties between lanes that hold at any subgroup size and for any lane, so the results must be the same everywhere.
layout(location = 0) flat out uvec4 holds;
uint known() {
    uint lane = gl_SubgroupInvocationID, size = gl_SubgroupSize;
    uvec2 all = size == 64u ? uvec2(~0u) : uvec2(size == 32u ? ~0u : (1u << size) - 1u, 0u);
    uvec2 eq = gl_SubgroupEqMask.xy, ge = gl_SubgroupGeMask.xy, gt = gl_SubgroupGtMask.xy;
    uvec2 le = gl_SubgroupLeMask.xy, lt = gl_SubgroupLtMask.xy;
    uint bits = 0u;
    if (lane < size) bits |= 1u;
    if (eq == uvec2(lane < 32u ? 1u << lane : 0u, lane < 32u ? 0u : 1u << (lane - 32u))) bits |= 2u;
    if ((ge ^ lt) == all) bits |= 4u;
    if ((gt ^ le) == all) bits |= 8u;
    if ((ge ^ gt) == eq && (le ^ lt) == eq) bits |= 16u;
    if (subgroupBallotBitExtract(subgroupBallot(true), lane)) bits |= 32u;
    if (bitCount(lt.x) + bitCount(lt.y) == lane) bits |= 64u;
    return bits;
}
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    gl_Position = vec4(at, 0.5, 1.0);
    holds = uvec4(known(), gl_VertexIndex, 5u, 6u);
}
