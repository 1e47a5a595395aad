#version 450
// grid 2 1 1
// at 0 bits 1024
// uniform 1 bits 256
// at 2 zeros 8192
// at 3.0 bits 64
// at 3.1 bits 64
// at 3.2 bits 64
// push bits 16
layout(local_size_x = 32) in;
struct Padded { vec3 v; float f; mat3 m; uint tail[2]; };
layout(set = 0, binding = 0, std430) readonly buffer A { uint head; uint pad[3]; uvec3 three[4]; layout(row_major) mat2x3 rows; uint rest[]; } a;
layout(set = 0, binding = 1, std140) uniform U { uint x; uint list[4]; uvec2 pairs[3]; layout(row_major) mat4x2 rows; mat3x2 columns; } u;
layout(set = 0, binding = 2) buffer B { uint b[][32]; };
layout(set = 0, binding = 3) readonly buffer D { uint d[]; } many[3];
layout(push_constant) uniform P { uvec4 first; uint array[8]; } p;
void main() {
    uint i = gl_GlobalInvocationID.x;
    int n = 0;
    b[i][n++] = a.head;
    b[i][n++] = a.three[i & 3u].z ^ a.three[i & 3u].x;
    b[i][n++] = uint(a.rest.length());
    b[i][n++] = a.rest[i];
    b[i][n++] = floatBitsToUint(a.rows[1][2]) ^ floatBitsToUint(a.rows[0][i % 3u]);
    b[i][n++] = u.x + u.list[i & 3u] + u.pairs[i % 3u].y;
    b[i][n++] = floatBitsToUint(u.rows[i & 3u][1]);
    b[i][n++] = floatBitsToUint(u.columns[i % 3u].y);
    b[i][n++] = p.first[i & 3u] ^ p.array[i & 7u];
    b[i][n++] = many[p.first.x % 3u].d[i];
    b[i][n++] = uint(many[1].d.length());
    // Beyond the end: robust reads give 0, robust writes are dropped.
    b[i][n++] = a.rest[i + 100000u];
    if (i == 5u) b[100000][3] = 7u;
    uvec4 whole = uvec4(a.three[1], a.head);
    b[i][n++] = whole.w + whole.y;
}
