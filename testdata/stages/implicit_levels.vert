#version 450
layout(location = 0) out vec3 place;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    gl_Position = vec4(at, 0.5, 1.0);
    place = vec3(at * 0.5 + 0.5, 1.0);
}
