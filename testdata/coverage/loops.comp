#version 450
// grid 4 1 1
// at 0 below 512 40
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
uint nested(uvec4 x) {
    uint sum = 0u;
    for (uint i = 0u; i < x.x; ++i) {
        if ((i & 7u) == (x.y & 7u)) continue;
        for (uint j = i; ; j += 3u) {
            if (j > x.z + 5u) break;
            sum = sum * 5u + j;
            if ((sum & 31u) == 3u) continue;
            if ((sum & 127u) == x.w) return sum;
            sum ^= i;
        }
        if (sum > 0xf0000000u) break;
    }
    return sum + 1u;
}
uint breaks_out_of_switch(uvec4 x) {
    uint n = 0u;
    for (uint i = 0u; i < 20u; ++i) {
        switch ((x.x + i) % 6u) {
        case 0u: n += 1u; break;
        case 1u: n += 10u;
        case 2u: n += 100u; continue;
        case 4u: if (i > x.y) return n; break;
        default: n ^= i;
        }
        n += 3u;
        if (n > 2000u + x.z) break;
    }
    return n;
}
uint do_while(uvec4 x) {
    uint n = x.x, steps = 0u;
    do {
        n = (n & 1u) == 0u ? n / 2u : n * 3u + 1u;
        ++steps;
    } while (n > 1u && steps < 100u);
    return steps;
}
uint while_with_two_exits(uvec4 x) {
    uint i = 0u, k = x.y;
    while (true) {
        k = k * 1664525u + 1013904223u;
        if ((k >> 28) == 3u) { i += 1000u; break; }
        if (i++ > x.x) { i += 5000u; break; }
    }
    return i ^ k;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 x = a[i];
    b[i][0] = nested(x);
    b[i][1] = breaks_out_of_switch(x);
    b[i][2] = do_while(x);
    b[i][3] = while_with_two_exits(x);
    uint acc = 0u;
    for (int p = 0; p < 3; ++p) {
        acc = acc * 31u + nested(x.wzyx + uint(p));
        if (acc % 5u == 0u) { acc += breaks_out_of_switch(x.yxwz); }
    }
    b[i][4] = acc;
    // A loop that some lanes never enter, in a branch that some lanes never take.
    uint t = 0u;
    if (x.x > 20u) {
        for (uint k = x.y; k < x.z; ++k) t += k * k;
    } else if (x.x > 10u) {
        t = 77u;
    } else {
        if (x.w > 30u) { b[i][5] = 1u; return; }
        t = 99u;
    }
    b[i][5] = t;
}
