#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Every function of GLSL.std.450 that GLSL can express, in 32 bits, and those of 16 and 64 bits that differ.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer B {
    vec4 f[16];
    ivec4 i[4];
    uvec4 u[4];
    mat4 m4;
    mat3 m3;
    mat2 m2;
    f16vec4 h[4];
    dvec4 d[4];
} b;

void main() {
    vec4 x = b.f[0], y = b.f[1], z = b.f[2];
    ivec4 i = b.i[0], j = b.i[1], k = b.i[2];
    uvec4 u = b.u[0], v = b.u[1], w = b.u[2];
    vec4 r = round(x) + roundEven(x) + trunc(x) + abs(x) + sign(x) + floor(x) + ceil(x) + fract(x);
    r += radians(x) + degrees(x) + sin(x) + cos(x) + tan(x) + asin(x) + acos(x) + atan(x);
    r += sinh(x) + cosh(x) + tanh(x) + asinh(x) + acosh(x) + atanh(x) + atan(x, y);
    r += pow(x, y) + exp(x) + log(x) + exp2(x) + log2(x) + sqrt(x) + inversesqrt(x);
    r += min(x, y) + max(x, y) + clamp(x, y, z) + mix(x, y, z) + mix(x, y, z.x) + step(x, y) + smoothstep(x, y, z);
    r += fma(x, y, z) + ldexp(x, i);
    vec4 whole;
    r += modf(x, whole);
    r += whole;
    ivec4 e;
    r += frexp(x, e);
    b.i[3] = abs(i) + sign(i) + min(i, j) + max(i, j) + clamp(i, j, k) + findLSB(i) + findMSB(i) + e;
    b.u[3] = min(u, v) + max(u, v) + clamp(u, v, w) + uvec4(findMSB(u));
    b.u[3].x += packSnorm4x8(x) + packUnorm4x8(x) + packSnorm2x16(x.xy) + packUnorm2x16(x.xy) + packHalf2x16(x.xy);
    r.xy += unpackSnorm2x16(u.x) + unpackUnorm2x16(u.x) + unpackHalf2x16(u.x);
    r += unpackSnorm4x8(u.x) + unpackUnorm4x8(u.x);
    r.x += length(x) + distance(x, y) + length(x.x) + distance(x.x, y.x);
    r.xyz += cross(x.xyz, y.xyz) + normalize(x.xyz) + faceforward(x.xyz, y.xyz, z.xyz) + reflect(x.xyz, y.xyz);
    r.xyz += refract(x.xyz, y.xyz, z.x);
    r.x += determinant(b.m4) + determinant(b.m3) + determinant(b.m2);
    r += inverse(b.m4)[0];
    r.xyz += inverse(b.m3)[1];
    r.xy += inverse(b.m2)[1];
    b.f[3] = r;

    f16vec4 h = b.h[0];
    b.h[1] = sin(h) + asin(h) + atan(h, b.h[2]) + pow(h, b.h[2]) + exp2(h) + tanh(h) + mix(h, b.h[2], h.xxxx) + ldexp(h, i);
    b.h[2] = normalize(h) + refract(h, b.h[2], h.x) + floor(h) + f16vec4(length(h));
    dvec4 d = b.d[0];
    dvec4 dw;
    b.d[1] = floor(d) + sqrt(d) + inversesqrt(d) + min(d, b.d[2]) + mix(d, b.d[2], d) + normalize(d) + modf(d, dw) + dw;
    b.d[2].x = packDouble2x32(u.xy);
    b.u[3].xy += unpackDouble2x32(d.x);
}
