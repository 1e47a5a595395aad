#version 450
// grid 4 1 1
// at 0 floats 512 -1.2 1.2
// at 1 bits 512
// at 2 zeros 8192
// at 3 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer C { uint c[]; };
layout(set = 0, binding = 2) buffer B { uint b[][8]; };
layout(set = 0, binding = 3) buffer D { vec4 d[][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 x = a[i];
    int n = 0;
    b[i][n++] = packUnorm4x8(x);
    b[i][n++] = packSnorm4x8(x);
    b[i][n++] = packUnorm2x16(x.xy);
    b[i][n++] = packSnorm2x16(x.xy);
    b[i][n++] = packHalf2x16(x.xy * 100.0);
    n = 0;
    d[i][n++] = unpackUnorm4x8(c[i]);
    d[i][n++] = unpackSnorm4x8(c[i]);
    d[i][n++] = unpackUnorm2x16(c[i]).xyxy;
    d[i][n++] = unpackSnorm2x16(c[i]).xyxy;
    d[i][n++] = unpackHalf2x16(c[i] & 0xbfffbfffu).xyxy;
}
