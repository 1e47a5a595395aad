#version 450
// grid 4 1 1
// at 0 floats 512 -4 4
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) buffer B { float b[][16]; };
layout(set = 0, binding = 1) buffer C { int c[][16]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y, p = abs(a[i].z) + 0.01;
    int n = 0;
    b[i][n++] = exp(x);
    b[i][n++] = exp2(x);
    b[i][n++] = log(p);
    b[i][n++] = log2(p);
    b[i][n++] = pow(p, x);
    b[i][n++] = sqrt(p);
    b[i][n++] = inversesqrt(p);
    int e;
    b[i][n++] = frexp(x * 37.0, e);
    c[i][n++] = e;
    b[i][n++] = ldexp(x, int(y * 10.0));
    b[i][n++] = pow(p, 2.0);
    ivec2 ee;
    vec2 m = frexp(vec2(x, y * 0.001), ee);
    b[i][n++] = m.x + m.y;
    c[i][n++] = ee.x * 100 + ee.y;
}
