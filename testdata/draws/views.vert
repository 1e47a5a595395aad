#version 450
#extension GL_EXT_multiview : require
layout(location = 0) in vec4 position;
layout(location = 0) flat out int view;
void main() {
    gl_Position = position;
    view = gl_ViewIndex;
}
