#version 450
#extension GL_EXT_null_initializer : require
// grid 3 1 1
// at 0 bits 2048
// at 1 zeros 16384
// Sizes that the invocations do not divide, one of less than a write, and one without an initializer.
layout(local_size_x = 24, local_size_y = 2) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
struct Pair { vec3 f; bool set; };
shared uint words[411] = {};
shared uint own[48];
shared Pair pairs[5] = {};
shared uint one = {};
void main() {
    uint i = gl_LocalInvocationIndex;
    uint x = a[(gl_WorkGroupID.x * 48u + i) & 511u];
    own[i] = x;
    uint sum = x;
    for (uint n = i; n < 411u; n += 48u) sum = sum * 3u + words[n];
    b[gl_WorkGroupID.x * 48u + i][0] = sum;
    b[gl_WorkGroupID.x * 48u + i][1] = one + x;
    b[gl_WorkGroupID.x * 48u + i][2] = floatBitsToUint(pairs[x % 5u].f.y) + (pairs[i % 5u].set ? 7u : x >> 3);
    barrier();
    words[(i * 8u + x) % 411u] = 1u;
    if (i == 3u) one = x;
    barrier();
    b[gl_WorkGroupID.x * 48u + i][3] = one + own[47u - i];
}
