#version 450
// Constant offsets at the limits of instruction fields; and constant indices out of bounds where no lane is active.
// grid 2 1 1
// at 0 bits 20000
// at 1 zeros 2048
// uniform 2 bits 4096
layout(local_size_x = 32) in;
layout(constant_id = 0) const int before = -1;
layout(constant_id = 1) const int far = 1 << 28;
layout(constant_id = 2) const int farther = 0x7fffffff;
layout(set = 0, binding = 0) readonly buffer A { uint a[8]; uint as[1016]; uvec4 av[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
layout(set = 0, binding = 2) uniform U { uvec4 u[256]; };
shared uint s[4000];
shared uvec4 sv[8];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    // The first byte that twelve bits do not reach is in the second half of the array.
    uint p[2000];
    for (uint k = 0u; k < 2000u; ++k) p[k] = k * i;
    p[i & 3u] += 7u;
    b[i][0] = p[1023] ^ p[1024] ^ p[1999] ^ p[(a[0] & 3u) + 1021u];
    b[i][1] = p[1020] * 3u + p[1022] + p[a[1] & 1023u];
    for (uint k = l; k < 4000u; k += 32u) s[k] = k * k;
    if (l < 8u) sv[l] = uvec4(l, l * 3u, l * 5u, l * 7u);
    barrier();
    b[i][2] = s[255] + s[256] + s[1023] + s[3999] + s[(l & 1u) + 254u];
    b[i][3] = sv[7].w + sv[l & 7u].y;
    b[i][4] = as[1013] + as[1014] + as[1015] + av[0].w + av[1].x + as[(i & 1u) + 1014u];
    b[i][5] = u[255].w + u[(i & 1u) + 254u].z;
    b[i][6] = 0u;
    if (a[0] == 0x12345678u) {
        p[before] = 1u;
        p[far] = 2u;
        p[farther] = 3u;
        s[before] = 4u;
        s[far] = 5u;
        s[farther] = 6u;
        sv[before].y = 5u;
        b[i][6] = p[before] + p[far] + p[farther] + s[before] + s[far] + s[farther] + sv[farther].x
            + as[before] + as[far] + as[farther] + av[before].y + av[far].z + u[before].x + u[farther].y;
        b[before][0] = 1u;
        b[far][1] = 2u;
        b[farther][2] = 3u;
    }
    b[i][7] = p[i];
}
