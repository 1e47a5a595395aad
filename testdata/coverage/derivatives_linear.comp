#version 450
#extension GL_NV_compute_shader_derivatives : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_ballot : require
// Quads of four invocations by linear index: local ids, derivatives, levels of detail, and lanes.
// grid 2 1 1
// subgroups
// unjudged lavapipe 22.3 has no compute shader derivatives
// at 0 zeros 2112
// at 1 floats 1024 -4 4
// texels 2 R32G32B32A32_SFLOAT 32 32 combined linear 6
layout(local_size_x = 3, local_size_y = 8, local_size_z = 4) in;
layout(derivative_group_linearNV) in;
layout(set = 0, binding = 0) buffer Out { uint words[]; };
layout(set = 0, binding = 1) readonly buffer In { float given[]; };
layout(set = 0, binding = 2) uniform sampler2D image;
void main() {
    uvec3 p = gl_LocalInvocationID;
    uint i = gl_LocalInvocationIndex + 96u * gl_WorkGroupID.x;
    float x = given[i];
    words[i] = p.x | p.y << 8 | p.z << 16;
    words[192u + i] = floatBitsToUint(dFdxFine(x));
    words[384u + i] = floatBitsToUint(dFdyFine(x));
    words[576u + i] = floatBitsToUint(dFdxCoarse(x * 0.0 + float(p.y * 3u + p.x)));
    vec2 at = vec2(gl_GlobalInvocationID.xy) * vec2(0.11, 0.17) + x * 0.001;
    words[768u + i] = floatBitsToUint(texture(image, at).y);
    words[960u + i] = floatBitsToUint(texture(image, at, 1.25).x);
    words[1152u + i] = floatBitsToUint(textureGrad(image, at, dFdxFine(at), dFdyFine(at)).z);
    words[1344u + i] = floatBitsToUint(subgroupQuadSwapHorizontal(x));
    words[1536u + i] = floatBitsToUint(subgroupQuadBroadcast(x, 2u));
    words[1728u + i] = gl_SubgroupID * 256u + gl_SubgroupInvocationID;
    words[1920u + i] = subgroupBroadcastFirst(gl_LocalInvocationIndex);
}
