#version 450
layout(location = 0) out vec2 place;
layout(location = 1) flat out uvec2 given;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    gl_Position = vec4(at, 0.5, 1.0);
    place = at * 16.0 + 16.0;
    given = uvec2(3u, 11u);
}
