#version 450
layout(location = 0) flat in ivec4 values[8];
layout(location = 0) out ivec4 results[8];
void main() { results = values; }
