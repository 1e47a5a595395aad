#version 450
#define STEP push.a
// An array in scratch memory with dynamic indices; STEP is one or two dwords of push constants, which are user data.
layout(location = 0) in vec4 corner;
layout(location = 1) in vec4 tint;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Table { vec4 rows[16]; } table;
layout(push_constant) uniform Push { uint a; uint b; } push;

void main() {
    float kept[96];
    for (int n = 0; n < 96; n++) kept[n] = table.rows[n & 15][n / 16 & 3] + float(n);
    uint at = uint(gl_VertexIndex) * 7u;
    at = (at + STEP) % 96u;
    kept[at] = kept[(at + 41u) % 96u] * 0.5;
    float sum = kept[(at * 5u) % 96u];
    color = vec4(tint.rgb, fract(sum * 0.125) * 0.5 + 0.25);
    gl_Position = corner;
}
