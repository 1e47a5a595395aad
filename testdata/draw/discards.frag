#version 450
#extension GL_EXT_demote_to_helper_invocation : require
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
// uniform 0 below 4 12
// extent 16 16
// at 1 zeros 256
layout(set = 0, binding = 0) uniform U { uvec4 u; };
layout(set = 0, binding = 1) buffer B { uint written[256]; };
layout(location = 0) out vec4 a;
layout(location = 1) out uvec4 b;
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    uint n = p.x * 3u + p.y * 5u + u.x;
    float before = float(n * n) * 0.125;
    if (n % 5u == 2u) demote;
    // Demoted neighbours still contribute.
    a = vec4(dFdxFine(before), dFdyFine(before), helperInvocationEXT() ? 1.0 : 0.0, 0.5);
    if (n % 7u == 3u) discard;
    uint sum = 0u;
    for (uint i = 0u; i < p.x + 2u; ++i) {
        sum += i * n;
        if (sum % 11u == u.y) discard;
        if (sum % 13u == 5u) { sum += 100u; break; }
    }
    b = uvec4(sum, n, p);
    written[p.y * 16u + p.x] = sum + 1u;
}
