#version 450
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i * 4], y = a[i * 4 + 1];
    uint u = uint(x), v = uint(y);
    int d = (y & 0xff) + 1;
    uint ud = (v >> 20) + 1u;
    int n = 0;
    b[i][n++] = x + y;
    b[i][n++] = x - y;
    b[i][n++] = x * y;
    b[i][n++] = x / d;
    b[i][n++] = int(u / ud);
    b[i][n++] = int(u % ud);
    b[i][n++] = (x & 0x7fffffff) % d;
    b[i][n++] = -x;
    b[i][n++] = ~x;
    b[i][n++] = x & y;
    b[i][n++] = x | y;
    b[i][n++] = x ^ y;
    b[i][n++] = x << (y & 31);
    b[i][n++] = x >> (y & 31);
    b[i][n++] = int(u >> (v & 31u));
    b[i][n++] = abs(x >> 1);
    b[i][n++] = sign(x & (y - 1));
    b[i][n++] = min(x, y);
    b[i][n++] = max(x, y);
    b[i][n++] = int(min(u, v));
    b[i][n++] = int(max(u, v));
    b[i][n++] = clamp(x, -1000, y & 0x7fffffff);
    b[i][n++] = int(clamp(u, 1000u, v | 0x80000000u));
    b[i][n++] = (x < y ? 1 : 0) | (x <= y ? 2 : 0) | (x > y ? 4 : 0) | (x >= y ? 8 : 0) | (x == y ? 16 : 0) | (x != y ? 32 : 0);
    b[i][n++] = (u < v ? 1 : 0) | (u <= v ? 2 : 0) | (u > v ? 4 : 0) | (u >= v ? 8 : 0);
    bool p = (x & 1) != 0, q = (y & 1) != 0;
    b[i][n++] = int(p && q) | int(p || q) << 1 | int(p != q) << 2 | int(!p) << 3 | int(p == q) << 4;
    bvec3 m = lessThan(ivec3(x, y, x ^ y), ivec3(y, 0, x));
    b[i][n++] = int(any(m)) | int(all(m)) << 1 | int(not(m).z) << 2;
    ivec3 s = mix(ivec3(x), ivec3(y), m);
    b[i][n++] = s.x ^ s.y ^ s.z;
}
