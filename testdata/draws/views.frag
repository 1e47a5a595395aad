#version 450
#extension GL_EXT_multiview : require
layout(location = 0) flat in int view;
layout(location = 0) out ivec4 color;
void main() { color = ivec4(gl_ViewIndex, view, gl_Layer, 7); }
