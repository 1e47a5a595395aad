#version 450
// Eight attributes of any format to eight attachments: one pixel per vertex, one block of rows per instance.
layout(location = 0) in vec4 attributes[8];
layout(location = 0) flat out vec4 values[8];
void main() {
    ivec2 pixel = ivec2(gl_VertexIndex % 16, gl_VertexIndex / 16 + 2 * gl_InstanceIndex);
    gl_Position = vec4((vec2(pixel) + 0.5) / 8.0 - 1.0, 0.5, 1.0);
    gl_PointSize = 1.0;
    values = attributes;
}
