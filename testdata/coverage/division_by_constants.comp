#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 16384
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec2 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint u = a[i].x;
    int s = int(a[i].y);
    uint small = u & 0xfffffu;
    uint n = 0u;
    b[i][n++] = u / 3u;
    b[i][n++] = u / 7u;
    b[i][n++] = u / 14u;
    b[i][n++] = u / 1000000007u;
    b[i][n++] = u / 0xfffffffeu;
    b[i][n++] = u % 10u;
    b[i][n++] = u % 64u;
    b[i][n++] = small / 7u;
    b[i][n++] = small / ((a[i].y >> 9u) + 1u);
    b[i][n++] = small % ((a[i].y >> 22u) + 1u);
    b[i][n++] = uint(s / 3);
    b[i][n++] = uint(s / -7);
    b[i][n++] = uint(s / 8);
    b[i][n++] = uint(s / -16);
    b[i][n++] = uint((s >> 4) / 100);
    b[i][n++] = uint((s & 0xffff) / 641);
    b[i][n++] = uint((s >> 13) / (int(u >> 25u) - 200));
    uint64_t w = (uint64_t(u) << 32) | a[i].y;
    b[i][n++] = uint(w / 10ul);
    b[i][n++] = uint(w / 7ul);
    b[i][n++] = uint(w % 1000000007ul);
    b[i][n++] = uint(int64_t(w) / -5l);
    b[i][n++] = uint(int64_t(w) / 4096l);
    b[i][n++] = uint(w / (uint64_t(a[i].y) | 1ul));
    b[i][n++] = uint(uint16_t(u) / uint16_t(33));
    b[i][n++] = uint(int16_t(s) / int16_t(-9));
    b[i][n++] = uint(uint8_t(u) % uint8_t(5));
}
