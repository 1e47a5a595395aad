#version 450
layout(set = 0, binding = 1, std140) uniform V { uvec4 v[2]; };
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 color;
void main() {
    color = shade * uintBitsToFloat(v[0]) + uintBitsToFloat(v[1]);
}
