#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
// grid 4 1 1
// at 0 bits 512
// at 1 floats 512 -100 100
// at 2 zeros 16384
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) readonly buffer C { vec4 c[]; };
layout(set = 0, binding = 2) buffer B { uint b[][64]; };
void put(inout int n, uint i, uint64_t x) { b[i][n++] = uint(x); b[i][n++] = uint(x >> 32); }
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint u = a[i].x;
    int s = int(a[i].y);
    float f = c[i].x;
    int n = 0;
    b[i][n++] = floatBitsToUint(float(s));
    b[i][n++] = floatBitsToUint(float(u));
    b[i][n++] = uint(int(f));
    b[i][n++] = uint(abs(f));
    b[i][n++] = uint(uint8_t(u)) + (uint(uint16_t(s)) << 8);
    b[i][n++] = uint(int(int8_t(u))) ^ uint(int(int16_t(s)));
    put(n, i, uint64_t(u));
    put(n, i, uint64_t(int64_t(s)));
    put(n, i, doubleBitsToUint64(double(f)));
    put(n, i, doubleBitsToUint64(double(s)));
    put(n, i, doubleBitsToUint64(double(u)));
    put(n, i, uint64_t(double(abs(f)) * 1.0e9LF));
    put(n, i, uint64_t(int64_t(double(f) * 1.0e9LF)));
    b[i][n++] = uint(float16BitsToUint16(float16_t(f)));
    b[i][n++] = floatBitsToUint(float(float16_t(f)));
    b[i][n++] = floatBitsToUint(float(int8_t(s)));
    b[i][n++] = floatBitsToUint(float(uint16_t(s)));
    b[i][n++] = uint(f > 0.0) + uint(bool(u & 1u)) * 2u;
    b[i][n++] = floatBitsToUint(float(s > 0));
    put(n, i, packUint2x32(uvec2(u, s)));
    b[i][n++] = packUint2x16(u16vec2(u, s));
    b[i][n++] = pack32(u8vec4(u, u >> 8, s, s >> 8));
    b[i][n++] = uint(unpack16(u).y);
    b[i][n++] = uint(unpack8(u).w);
}
