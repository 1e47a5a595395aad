#version 450
// grid 4 1 1
// floor 16
// at 0 floats 1024 -4 4
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) buffer B { float b[][32]; };
void put(inout int n, uint i, vec3 v) { b[i][n++] = v.x; b[i][n++] = v.y; b[i][n++] = v.z; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 x = a[i * 2], y = a[i * 2 + 1];
    int n = 0;
    b[i][n++] = length(x);
    b[i][n++] = length(x.xy);
    b[i][n++] = length(x.x);
    b[i][n++] = distance(x, y);
    b[i][n++] = dot(x.xyz, y.xyz);
    put(n, i, cross(x.xyz, y.xyz));
    put(n, i, normalize(x.xyz));
    put(n, i, reflect(x.xyz, normalize(y.xyz)));
    put(n, i, refract(normalize(x.xyz), normalize(y.xyz), 0.4));
    put(n, i, faceforward(x.xyz, y.xyz, x.wzy));
    b[i][n++] = normalize(x.w);
}
