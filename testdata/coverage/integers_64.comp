#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { i64vec2 a[]; };
layout(set = 0, binding = 1) buffer B { int64_t b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t x = a[i].x, y = a[i].y;
    uint64_t u = uint64_t(x), v = uint64_t(y);
    int64_t d = (y & 0xffffl) + 1l;
    uint64_t ud = (v >> 40) + 1ul;
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = x / d;
    b[i][n++] = int64_t(u / ud);
    b[i][n++] = int64_t(u % ud);
    b[i][n++] = -x;
    b[i][n++] = ~x;
    b[i][n++] = (x & y) | (x ^ y);
    b[i][n++] = x << int(y & 63l);
    b[i][n++] = x >> int(y & 63l);
    b[i][n++] = int64_t(u >> int(v & 63ul));
    b[i][n++] = min(x, y);
    b[i][n++] = max(x, y);
    b[i][n++] = int64_t(min(u, v));
    b[i][n++] = int64_t(max(u, v));
    b[i][n++] = abs(x >> 1);
    b[i][n++] = (x < y ? 1l : 0l) | (x <= y ? 2l : 0l) | (u > v ? 4l : 0l) | (u >= v ? 8l : 0l) | (x == y ? 16l : 0l);
    b[i][n++] = int64_t(int(x)) ^ int64_t(uint(y));
    b[i][n++] = int64_t(unpackUint2x32(u).y) + int64_t(packUint2x32(uvec2(uint(x), uint(y))));
    b[i][n++] = int64_t(float(x) > 0.0);
    b[i][n++] = clamp(x, -5000l, 1l << 40);
    b[i][n++] = sign(x);
}
