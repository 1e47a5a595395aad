#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// grid 4 1 1
// at 0 halves 2048 -2 2
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { f16vec4 a[]; };
layout(set = 0, binding = 1) buffer B { f16vec4 b[][8]; };

f16vec2 product(f16vec2 x, f16vec2 y) {
    return f16vec2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    f16vec4 x = a[4 * i], y = a[4 * i + 1], z = a[4 * i + 2], w = a[4 * i + 3];
    // Each operation that has a packed form, with swizzles, scalars, constants and signs.
    b[i][0] = fma(x, y.wzyx, -z) + f16vec4(0.5hf, -0.5hf, 1.5hf, 3.0hf);
    b[i][1] = min(x, y.yyxx) - max(z.zwxy, w) * 0.25hf;
    // Halves of different registers, and lanes that only one operation uses.
    b[i][2] = f16vec4(x.x, y.y, x.w, y.w) * f16vec4(y.x, x.z, z.z, w.x) + f16vec4(z.y, w.z, x.y, x.y);
    b[i][3] = f16vec4(product(x.xy, y.yx), product(z.wx, w.xy));
    // Operations without a packed form in between.
    b[i][4] = floor(x + y) + fract(abs(z) * w) - trunc(-x * 3.0hf);
    b[i][5] = clamp(x * y + z, 0.0hf, 1.0hf) + mix(x, y, greaterThan(z, w));
    // Sums in loops, and vectors of three.
    f16vec3 sum = f16vec3(0.0hf);
    f16vec2 high = f16vec2(1.0hf);
    for (uint n = 0; n < (i & 7u); ++n) {
        sum = sum * 0.5hf + a[(4 * i + n) & 511u].xyz;
        high = high.yx * 0.5hf - sum.yz;
    }
    b[i][6] = f16vec4(sum, high.x) + f16vec4(0.0hf, high.yx, 1.0hf);
    // Conversions on both ends.
    vec4 wide = vec4(x * y) * 0.125;
    b[i][7] = f16vec4(wide.xz, wide.yw) + (x.x < 0.0hf ? y : z.wzyx);
}
