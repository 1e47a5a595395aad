#version 450
#extension GL_EXT_terminate_invocation : require
#extension GL_EXT_demote_to_helper_invocation : require
// Pixels exit from within loops and switches; the rest of their quads continues, with derivatives.
// draw triangles 3
// at 0 zeros 1024
// push dwords 4 2 9 1
// attachment R32G32B32A32_UINT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec2 place;
layout(location = 1) flat in uvec2 given;
layout(push_constant) uniform P { uvec4 same; };
layout(set = 0, binding = 0) buffer B { uint left[32][32]; };
layout(location = 0) out uvec4 a;
layout(location = 1) out vec4 b;
uint falls(uint x) {
    uint n = 0u;
    for (uint i = 0u; i < 7u; ++i) {
        switch ((x + i) % 6u) {
        case 0u: n += 1u; continue;
        case 1u: n += 10u;
        case 2u: n += 100u; if (n > 350u) return n; break;
        case 3u: for (uint j = 0u; j < i; ++j) { if (j == same.x) break; n ^= j << 4; if ((n & 7u) == 5u) discard; }
        case 4u: if (n == 777u) terminateInvocation; break;
        default: n += i;
        }
        if (n % 13u == 12u) break;
    }
    return n;
}
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    float curve = place.x * place.x * 0.125 + place.x * place.y * 0.25;
    // Lanes diverge and reconverge, and some are demoted to helpers.
    for (uint i = 0u; i < p.x % 4u; ++i) { if ((p.y + i) % 3u == 0u) continue; curve += float(i); }
    if ((p.x ^ p.y) % 7u == same.y) demote;
    vec2 slope = vec2(dFdxFine(curve), dFdyFine(curve));
    uint n = falls(p.x * 3u + p.y);
    uint steps = 0u;
    while (true) {
        if (steps >= p.x % 5u + 1u) break;
        if (steps == given.x && (p.y & 3u) == 1u) { if (p.x > 20u) terminateInvocation; n += 5000u; break; }
        n = n * 5u + steps++;
    }
    bool helper = helperInvocationEXT();
    if (p.y == given.y) { if (p.x < same.z) { discard; } n += 9u; }
    left[p.y][p.x] = n | 1u;
    a = uvec4(n, steps, helper, p.x);
    b = vec4(slope, curve, float(n & 255u));
}
