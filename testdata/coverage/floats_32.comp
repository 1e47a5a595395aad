#version 450
// grid 4 1 1
// at 0 floats 512 -8 8
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) buffer B { float b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y, z = a[i].z, w = a[i].w;
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = x / y;
    b[i][n++] = mod(x, y);
    b[i][n++] = -x;
    b[i][n++] = x * y + z;
    precise float p = x * y;
    b[i][n++] = p + z;
    b[i][n++] = fma(x, y, z);
    b[i][n++] = abs(x);
    b[i][n++] = sign(x);
    b[i][n++] = floor(x);
    b[i][n++] = ceil(x);
    b[i][n++] = trunc(x);
    b[i][n++] = round(x);
    b[i][n++] = roundEven(x);
    b[i][n++] = fract(x);
    b[i][n++] = min(x, y);
    b[i][n++] = max(x, y);
    b[i][n++] = clamp(x, -1.0, 2.0);
    b[i][n++] = mix(x, y, z);
    b[i][n++] = step(x, y);
    b[i][n++] = smoothstep(-3.0, 3.0, x);
    b[i][n++] = float(x < y) + 2.0 * float(x <= y) + 4.0 * float(x > y) + 8.0 * float(x >= y) + 16.0 * float(x == y) + 32.0 * float(x != y);
    b[i][n++] = float(isnan(x)) + 2.0 * float(isinf(y)) + w;
    b[i][n++] = dot(a[i], a[i].wzyx);
    b[i][n++] = sqrt(abs(x));
    b[i][n++] = inversesqrt(abs(y));
    vec4 v = a[i] * 3.0 - a[i].yzwx / 2.0;
    b[i][n++] = v.x + v.y + v.z + v.w;
    float whole;
    b[i][n++] = modf(x, whole);
    b[i][n++] = whole;
}
