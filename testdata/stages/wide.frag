#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// draw triangles 3
// attachment R32G32B32A32_UINT
// attachment R32G32B32A32_UINT
// attachment R32G32B32A32_UINT
layout(location = 0) flat in double one;
layout(location = 1) flat in dvec3 three;
layout(location = 3) flat in dvec4 four[2];
layout(location = 7) flat in i64vec2 two;
layout(location = 8) flat in u64vec3 whole;
layout(location = 10, component = 0) flat in float narrow;
layout(location = 10, component = 2) flat in double beside;
layout(location = 11) in Mixed { flat double inner; flat uint64_t number; flat uint small; } mixed;
layout(location = 0) out uvec4 a;
layout(location = 1) out uvec4 b;
layout(location = 2) out uvec4 c;
uvec2 bits(double x) { return unpackDouble2x32(x); }
uvec2 bits(uint64_t x) { return unpackUint2x32(x); }
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    a = uvec4(bits(one) ^ p, bits(three[p.x % 3u]));
    b = uvec4(bits(four[p.x & 1u][p.y & 3u]), bits(whole[p.y % 3u]) ^ p);
    c = uvec4(p, 0u, 0u) ^ uvec4(bits(uint64_t(two[p.y & 1u])) ^ bits(mixed.number), bits(beside) ^ bits(mixed.inner) ^ uvec2(floatBitsToUint(narrow), mixed.small));
}
