#version 450
layout(location = 0) flat in uvec4 bits[7];
layout(location = 0) out uvec4 results[7];
void main() { results = bits; }
