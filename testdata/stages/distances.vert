#version 450
// Clip and cull distances. Some triangles are culled entirely.
out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[2]; float gl_CullDistance[1]; };
layout(location = 0) out vec2 place;
float noise(uint n) { return float((n * 2654435761u >> 16) & 1023u) / 512.0 - 1.0; }
void main() {
    uint n = gl_VertexIndex;
    vec2 at = vec2(noise(n + 1u), noise(n * 7u + 100u)) * 0.95;
    float w = 1.5 + noise(n + 50u);
    gl_Position = vec4(at * w, 0.5 * w, w);
    gl_ClipDistance[0] = at.x + 0.3;
    gl_ClipDistance[1] = 0.7 - at.y;
    gl_CullDistance[0] = n / 3u == 2u ? -1.0 : at.x;
    place = at;
}
