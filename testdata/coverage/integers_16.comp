#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_16bit_storage : require
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { i16vec4 a[]; };
layout(set = 0, binding = 1) buffer B { int16_t b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int16_t x = a[i].x, y = a[i].y;
    uint16_t u = uint16_t(a[i].z), v = uint16_t(a[i].w);
    int16_t d = (y & int16_t(0xff)) + int16_t(1);
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = x / d;
    b[i][n++] = int16_t(u / ((v >> 4us) + uint16_t(1)));
    b[i][n++] = int16_t(u % ((v >> 4us) + uint16_t(1)));
    b[i][n++] = -x;
    b[i][n++] = ~x;
    b[i][n++] = (x & y) | (x ^ y);
    b[i][n++] = x << (y & int16_t(15));
    b[i][n++] = x >> (y & int16_t(15));
    b[i][n++] = int16_t(u >> (v & uint16_t(15)));
    b[i][n++] = min(x, y);
    b[i][n++] = int16_t(max(u, v));
    b[i][n++] = x < y ? int16_t(1) : int16_t(2);
    b[i][n++] = u < v ? int16_t(1) : int16_t(2);
    b[i][n++] = int16_t(int(x) * int(y) >> 8);
    b[i][n++] = int16_t(uint(u) * uint(v) >> 8);
    b[i][n++] = abs(x / int16_t(2));
    i16vec2 w = i16vec2(x, y) * i16vec2(a[i].zw);
    b[i][n++] = w.x ^ w.y;
}
