#version 450
// grid 4 1 1
// floor 4096
// at 0 floats 512 -3 3
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) buffer B { float b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y, unit = a[i].z / 3.01;
    int n = 0;
    b[i][n++] = sin(x);
    b[i][n++] = cos(x);
    b[i][n++] = radians(x);
    b[i][n++] = degrees(x);
    b[i][n++] = tan(unit);
    b[i][n++] = atan(x);
    b[i][n++] = atan(y, x);
    b[i][n++] = asin(unit * 0.98);
    b[i][n++] = acos(unit * 0.98);
    b[i][n++] = sinh(x);
    b[i][n++] = cosh(x);
    b[i][n++] = tanh(x);
    b[i][n++] = asinh(abs(x) + 1.0);
    b[i][n++] = acosh(abs(x) + 1.5);
    b[i][n++] = atanh(unit * 0.8);
}
