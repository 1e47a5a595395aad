#version 450
layout(location = 0) in vec4 place;
layout(location = 0) flat out uint number;
void main() {
    number = uint(gl_VertexIndex);
    gl_Position = place;
}
