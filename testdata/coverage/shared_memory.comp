#version 450
// grid 3 1 1
// at 0 bits 192
// at 1 zeros 768
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uvec4 b[]; };
struct S { uint x; uvec2 y; };
shared uint sums[64];
shared S structs[64];
shared uint counters[4];
void main() {
    uint l = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x;
    uint x = a[i];
    sums[l] = x;
    structs[l] = S(x * 3u, uvec2(x, l));
    if (l < 4u) counters[l] = 0u;
    barrier();
    for (uint step = 32u; step > 0u; step >>= 1) {
        if (l < step) sums[l] += sums[l + step];
        barrier();
    }
    atomicAdd(counters[x & 3u], l);
    barrier();
    S other = structs[(l * 7u + 3u) & 63u];
    b[i] = uvec4(sums[0], other.x ^ other.y.y, other.y.x, counters[l & 3u]);
}
