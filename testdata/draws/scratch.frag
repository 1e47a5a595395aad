#version 450
#define STEP push.a
// An array in scratch memory, as in the vertex shader.
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 shaded;
layout(set = 0, binding = 0) uniform Table { vec4 rows[16]; } table;
layout(push_constant) uniform Push { uint a; uint b; } push;

void main() {
    float kept[96];
    for (int n = 0; n < 96; n++) kept[n] = table.rows[n & 15][n / 16 & 3] + float(n);
    uint at = uint(gl_FragCoord.x) * 7u + uint(gl_FragCoord.y) * 11u;
    at = (at + STEP) % 96u;
    kept[at] = kept[(at + 41u) % 96u] * 0.5;
    float sum = kept[(at * 5u) % 96u];
    shaded = vec4(color.rgb, fract(sum * 0.125) * color.a);
}
