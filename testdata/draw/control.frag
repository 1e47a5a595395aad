#version 450
// attachment R32G32B32A32_UINT
// uniform 0 below 4 12
layout(location = 1) flat in uvec4 flat_;
layout(set = 0, binding = 0) uniform U { uvec4 u; };
layout(location = 0) out uvec4 b;
uint f(uint x) {
    switch (x % 5u) { case 0u: return x; case 1u: x += 3u; case 2u: x *= u.y + 1u; break; default: for (uint i = 0u; i < x % 9u; ++i) { if (i == u.z) return i; x ^= i << 3; } }
    return x + 1u;
}
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    b = uvec4(f(p.x + u.x), f(p.y * p.x), f(p.x ^ p.y), flat_.z);
    if (p.x < 3u) return;
    b.w = f(f(p.x * 7u));
}
