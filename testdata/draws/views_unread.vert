#version 450
layout(location = 0) in vec4 position;
layout(location = 0) flat out int eight;
void main() {
    gl_Position = position;
    eight = 8;
}
