#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { i8vec4 a[]; };
layout(set = 0, binding = 1) buffer B { int8_t b[][16]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int8_t x = a[i].x, y = a[i].y;
    uint8_t u = uint8_t(a[i].z), v = uint8_t(a[i].w);
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = -x;
    b[i][n++] = ~x;
    b[i][n++] = (x & y) | (x ^ y);
    b[i][n++] = x << (y & int8_t(7));
    b[i][n++] = x >> (y & int8_t(7));
    b[i][n++] = int8_t(u >> (v & uint8_t(7)));
    b[i][n++] = min(x, y);
    b[i][n++] = int8_t(max(u, v));
    b[i][n++] = x < y ? int8_t(1) : int8_t(2);
    b[i][n++] = u < v ? int8_t(1) : int8_t(2);
    b[i][n++] = int8_t(int(x) * int(y) >> 4);
    b[i][n++] = int8_t(uint(u) * uint(v) >> 4);
}
