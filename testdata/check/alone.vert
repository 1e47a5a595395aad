#version 450
// A pipeline without a fragment shader.
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 unread;
void main() {
    unread = place;
    gl_Position = place * 0.5;
}
