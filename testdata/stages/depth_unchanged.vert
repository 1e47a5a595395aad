#version 450
// Three overlapping triangles, each nearest at a different side.
layout(location = 0) out vec3 value;
layout(location = 1) flat out int which;
void main() {
    int corner = gl_VertexIndex % 3, triangle = gl_VertexIndex / 3;
    vec2 at = vec2(corner == 1 ? 2.9 : -0.97, corner == 2 ? 2.9 : -0.97);
    float z = 0.3 + 0.12 * float((corner + triangle) % 3);
    gl_Position = vec4(at, z, 1.0);
    value = vec3(at, z);
    which = triangle;
}
