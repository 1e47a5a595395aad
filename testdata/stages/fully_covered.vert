#version 450
layout(location = 0) noperspective out vec2 at;
void main() {
    vec2 corner = vec2(gl_VertexIndex == 1 ? 0.93 : -0.91, gl_VertexIndex == 2 ? 0.88 : -0.9);
    gl_Position = vec4(corner, 0.5, 1.0);
    // In pixels of 32 by 32.
    at = (corner + 1.0) * 16.0;
}
