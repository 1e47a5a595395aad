#version 450
// grid 1 1 1
// at 0 below 512 1000
// at 1 zeros 8192
// More values than registers, behind a variable of more bytes than the offset of an instruction counts.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][16]; };
#define TEN(R, n) R(n##a) R(n##b) R(n##c) R(n##d) R(n##e) R(n##f) R(n##g) R(n##h) R(n##i) R(n##j)
#define HUNDRED(R, n) TEN(R, n##a) TEN(R, n##b) TEN(R, n##c) TEN(R, n##d) TEN(R, n##e) TEN(R, n##f) TEN(R, n##g) \
    TEN(R, n##h) TEN(R, n##i) TEN(R, n##j)
#define ALL(R) HUNDRED(R, x) HUNDRED(R, y) HUNDRED(R, z)
#define DECLARE(n) carry = carry * 5u + 1u; uint n = from.x * carry + from.y;
#define STEP(n) n ^= carry; carry = carry * 3u + n;
#define SUM(n) sum = sum * 7u + n;
void main() {
    uint g = gl_GlobalInvocationID.x;
    uvec4 from = a[g & 31u];
    uint t[1100];
    for (uint i = 0u; i < 1100u; ++i) t[i] = from.z + i * i;
    t[(from.w + 7u) % 1100u] = g;
    uint carry = from.w;
    ALL(DECLARE)
    for (uint i = 0u; i < 2u + (from.y & 3u); ++i) {
        HUNDRED(STEP, x) HUNDRED(STEP, y)
        carry += t[(i * 2u + from.w) % 1100u];
    }
    uint sum = 0u;
    ALL(SUM)
    b[g][0] = sum;
    b[g][1] = carry;
    b[g][2] = xaa;
    b[g][3] = yjj;
}
