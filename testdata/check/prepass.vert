#version 450
// A position, and parameters that the fragment shader does not read.
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 unread;
layout(push_constant) uniform Push { mat4 view; };
void main() {
    unread = place.yxwz;
    gl_Position = view * place;
}
