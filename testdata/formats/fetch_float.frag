#version 450
layout(location = 0) flat in vec4 values[8];
layout(location = 0) out vec4 results[8];
void main() { results = values; }
