#version 450
// grid 4 1 1
// at 0 below 512 12
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { ivec4 a[]; };
layout(set = 0, binding = 1) buffer B { int b[][8]; };
int falls(int x) {
    int n = 0;
    switch (x) {
    case 1: n += 1;
    case 2: n += 20; break;
    case 5:
    case 6: n += 300;
    case 3: { if (n > 0) break; n -= 7; }
    default: n += 4000; break;
    case 9: return -9;
    }
    return n;
}
int negative(int x) {
    switch (x - 6) {
    case -6: return 1;
    case -1: return 2;
    case 0x7fffffff: return 3;
    }
    return 4;
}
int nested(int x, int y) {
    switch (x % 3) {
    case 0:
        switch (y % 2) { case 0: return falls(y); default: break; }
        return 50;
    case 1:
        for (int i = 0; i < y; ++i) { switch (i) { case 4: return 51; case 3: continue; } if (i > 6) break; }
        break;
    }
    return 52;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec4 x = a[i];
    b[i][0] = falls(x.x);
    b[i][1] = negative(x.y);
    b[i][2] = nested(x.z, x.w);
    uint u = uint(x.x);
    switch (u) { case 0u: case 11u: b[i][3] = 5; break; case 0xffffffffu: b[i][3] = 6; }
}
