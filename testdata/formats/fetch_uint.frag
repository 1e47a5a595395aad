#version 450
layout(location = 0) flat in uvec4 values[8];
layout(location = 0) out uvec4 results[8];
void main() { results = values; }
