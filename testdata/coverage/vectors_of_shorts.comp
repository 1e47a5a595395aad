#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_16bit_storage : require
// grid 4 1 1
// at 0 bits 1024
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { i16vec4 a[]; };
layout(set = 0, binding = 1) buffer B { i16vec4 b[][8]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    i16vec4 x = a[4 * i], y = a[4 * i + 1], z = a[4 * i + 2], w = a[4 * i + 3];
    u16vec4 ux = u16vec4(x), uy = u16vec4(y), uz = u16vec4(z);
    i16vec4 amount = w & int16_t(15);
    b[i][0] = x * y.wzyx + z - i16vec4(1s, -1s, 300s, 64s);
    b[i][1] = min(x, y.yxwz) ^ max(z, w.xxyy);
    b[i][2] = i16vec4(min(ux, uy) + max(uy, uz.wzxy));
    b[i][3] = (x << amount) | (y >> amount.yxwz);
    b[i][4] = i16vec4(ux >> u16vec4(amount)) & ~(z << 3s);
    b[i][5] = abs(x) - (y >> 2s) * 5s;
    i16vec4 sum = w;
    for (uint n = 0; n < (i & 7u); ++n) {
        sum = sum * 3s + a[(4 * i + n) & 511u].wxyz;
    }
    b[i][6] = sum + (x.x < y.x ? z : w.wzyx);
    b[i][7] = i16vec4(x.x, y.x, z.y, w.y) - i16vec4(x.y, x.z, 7s, y.y) * i16vec4(x.w, z.x, y.w, w.x);
}
