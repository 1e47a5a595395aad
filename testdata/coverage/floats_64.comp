#version 450
// grid 4 1 1
// at 0 doubles 512 -8 8
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { dvec4 a[]; };
layout(set = 0, binding = 1) buffer B { double b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    double x = a[i].x, y = a[i].y, z = a[i].z;
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
    b[i][n++] = fract(x);
    b[i][n++] = min(x, y);
    b[i][n++] = max(x, y);
    b[i][n++] = mix(x, y, z);
    b[i][n++] = sqrt(abs(x));
    b[i][n++] = inversesqrt(abs(y));
    b[i][n++] = x < y ? 1.0LF : 2.0LF;
    b[i][n++] = double(float(x));
    b[i][n++] = double(int(x * 1000.0LF));
    b[i][n++] = double(uint(abs(x) * 1000.0LF));
    b[i][n++] = dot(a[i], a[i].wzyx);
    b[i][n++] = packDouble2x32(unpackDouble2x32(x).xy);
    b[i][n++] = length(a[i].xyz);
    b[i][n++] = clamp(x, -1.0LF, 1.0LF);
    b[i][n++] = mod(x, abs(y) + 1.0LF);
}
