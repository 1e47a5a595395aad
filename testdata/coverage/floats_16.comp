#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// grid 4 1 1
// at 0 halves 512 -8 8
// at 1 zeros 4096
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { f16vec4 a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float16_t x = a[i].x, y = a[i].y, z = a[i].z;
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = x / y;
    b[i][n++] = -x;
    b[i][n++] = fma(x, y, z);
    b[i][n++] = abs(x);
    b[i][n++] = sign(x);
    b[i][n++] = floor(x);
    b[i][n++] = ceil(x);
    b[i][n++] = trunc(x);
    b[i][n++] = roundEven(x);
    b[i][n++] = min(x, y);
    b[i][n++] = max(x, y);
    b[i][n++] = mix(x, y, z);
    b[i][n++] = sqrt(abs(x));
    b[i][n++] = x < y ? float16_t(1.0) : float16_t(2.0);
    b[i][n++] = float16_t(float(x) * 3.1);
    b[i][n++] = float16_t(int(x * float16_t(16.0)));
    b[i][n++] = dot(a[i].xy, a[i].zw);
    b[i][n++] = exp2(x * float16_t(0.5));
    b[i][n++] = clamp(x, float16_t(-1.0), float16_t(1.0));
}
