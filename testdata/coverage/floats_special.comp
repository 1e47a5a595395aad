#version 450
// grid 4 1 1
// at 0 bits 256
// at 1 zeros 4096
// Any bits: NaN, infinities, denormals; each has a known result.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec2 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint bits = a[i].x;
    if (i % 4u == 0u) bits |= 0x7f800000u;
    if (i % 8u == 0u) bits &= 0xff800000u;
    float x = uintBitsToFloat(bits), y = uintBitsToFloat(a[i].y & 0xbfffffffu);
    int n = 0;
    b[i][n++] = uint(isnan(x)) | uint(isinf(x)) << 1 | uint(x == x) << 2 | uint(x != x) << 3;
    b[i][n++] = uint(x < 1.0) | uint(x > 1.0) << 1 | uint(!(x < 1.0)) << 2 | uint(!(x >= 1.0)) << 3;
    b[i][n++] = uint(max(y, 1.0) >= 1.0) | uint(isinf(x) && abs(x) > 3.0e38) << 1;
    b[i][n++] = isnan(x) ? 0u : floatBitsToUint(-x);
    b[i][n++] = isnan(x) ? 7u : floatBitsToUint(abs(x));
}
