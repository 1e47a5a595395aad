#version 450
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
// target vulkan1.2
// grid 2 1 1
// at 0 bits 256
// at 1 zeros 2048
// texels 2 R32_UINT 64 1 storage
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { devicecoherent uint b[][16]; };
layout(set = 0, binding = 2, r32ui) devicecoherent uniform uimage2D c;
layout(set = 0, binding = 2, r32ui) nonprivate uniform uimage2D d;
layout(set = 0, binding = 2, r32ui) volatile uniform uimage2D e;
shared uint s[64];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex, x = a[i];
    atomicStore(b[i][15], x, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    b[i][0] = atomicLoad(b[i][15], gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    b[i][1] = atomicAdd(b[i][15], 3u, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    b[i][2] = atomicCompSwap(b[i][15], x + 3u, 9u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease,
                             gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    s[l] = x;
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    b[i][3] = s[63u - l];
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer | gl_StorageSemanticsImage, gl_SemanticsAcquireRelease);
    if (gl_WorkGroupID.x == 0u) {
        b[i][4] = imageLoad(c, ivec2(l, 0)).x;
        b[i][5] = imageLoad(d, ivec2(l, 0)).x + imageLoad(e, ivec2(l, 0)).x;
        imageStore(c, ivec2(l, 0), uvec4(x));
    }
}
