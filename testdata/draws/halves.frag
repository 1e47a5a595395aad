#version 450
// The sampler of a binding whose image the vertex shader uses.
layout(location = 0) in vec4 color;
layout(location = 1) in vec2 place;
layout(location = 0) out vec4 target;
layout(set = 0, binding = 0) uniform sampler its_sampler;
layout(set = 0, binding = 1) uniform texture2D other;

void main() {
    target = color + textureLod(sampler2D(other, its_sampler), place * 0.5 + 0.5, 0.0);
}
