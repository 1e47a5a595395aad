#version 450
void main() {
    gl_Position = vec4(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96, 0.5, 1.0);
}
