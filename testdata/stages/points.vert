#version 450
layout(location = 0) out vec2 at;
void main() {
    int n = gl_VertexIndex;
    vec2 middle = (vec2(n % 4, n / 4) * 8.0 + 4.0) / 16.0 - 1.0;
    gl_Position = vec4(middle, 0.5, 1.0);
    gl_PointSize = 2.6 + float(n % 5);
    at = middle;
}
