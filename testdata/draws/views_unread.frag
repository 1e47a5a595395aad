#version 450
layout(location = 0) flat in int eight;
layout(location = 0) out ivec4 color;
void main() { color = ivec4(9, eight, gl_Layer, 7); }
