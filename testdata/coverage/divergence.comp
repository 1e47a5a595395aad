#version 450
// Divergence and reconvergence: loops within loops and switches, uniform and divergent.
// grid 4 1 1
// push dwords 5 3 2 7
// at 0 below 512 64
// at 1 zeros 4096
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uvec4 same; };
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
uint early(uvec4 x) {
    for (uint i = 0u; i < same.x; ++i) {
        if (x.x == i) return i;
        for (uint j = 0u; j < x.y; ++j) {
            if (j == same.w) { if (x.z > 40u) return 100u + j; break; }
            if ((x.w ^ j) % 9u == 4u) { if (i == same.y) continue; else break; }
            x.z += j * i;
        }
        if (x.z > 900u) { x.z -= 900u; continue; }
        x.w += x.z;
    }
    return x.z ^ x.w;
}
uint machine(uvec4 x) {
    uint state = x.x & 3u, sum = 0u;
    for (uint step = 0u; step < 24u; ++step) {
        switch (state) {
        case 0u: state = x.y > 20u + step ? 1u : 2u; break;
        case 1u:
            for (uint k = 0u; ; ++k) { if (k > x.z) { state = 2u; break; } sum += k; if (sum > 500u) { state = 3u; break; } }
        case 2u: sum += 7u; if ((sum & 3u) == 0u) { state = 0u; continue; } state = same.y; break;
        case 3u: if (x.w-- == 0u) return sum; state = sum & 1u; sum ^= x.w;
        default: sum += step;
        }
        if (sum > 4000u) break;
    }
    return sum + state;
}
uint uniform_inside_divergent(uvec4 x) {
    uint n = 0u;
    while (x.x > 3u) {
        x.x = x.x * 7u >> 3;
        if (same.z == 2u) { n += x.x; } else { n -= 1u; }
        switch (same.y) { case 3u: n ^= x.y; case 4u: n += 1u; break; default: return 0u; }
        if (x.y == n) { do { n += 5u; } while (n % 3u != 0u); }
    }
    return n;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    b[i][0] = early(x);
    b[i][1] = machine(x);
    b[i][2] = uniform_inside_divergent(x);
    if (x.x > 50u) { if (x.y > 50u) return; b[i][3] = early(x.yzwx); } else if (x.z > 10u) { b[i][4] = machine(x.wxyz); }
    if (gl_WorkGroupID.x == same.z) { b[i][5] = early(x.zwxy) + machine(x.zwxy); if (x.w == 1u) return; }
    b[i][6] = uint(uniform_inside_divergent(x.yxwz) > x.x);
}
