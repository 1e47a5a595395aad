#version 450
#extension GL_ARB_shader_viewport_layer_array : require
layout(location = 0) flat out int sent;
void main() {
    int triangle = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
    vec2 at = vec2(corner == 1 ? 0.45 : 0.02, corner == 2 ? 0.45 : 0.02);
    gl_Position = vec4(at + vec2(triangle % 4, triangle / 4) * 0.5 - 1.0, 0.5, 1.0);
    gl_Layer = triangle - triangle;
    gl_ViewportIndex = 0;
    sent = triangle;
}
