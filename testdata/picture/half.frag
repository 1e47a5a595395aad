#version 450
// Half the size: each pixel is the mean of four, read by a linear sampler between them.
layout(location = 0) in vec2 place;
layout(set = 0, binding = 0) uniform sampler2D whole;
layout(location = 0) out vec4 color;
void main() { color = textureLod(whole, place, 0.0); }
