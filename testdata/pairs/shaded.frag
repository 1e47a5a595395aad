#version 450
layout(location = 0) in vec3 normal;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 result;

void main() {
    result = color * (0.6 + 0.4 * dot(normal, vec3(0.3, 0.5, 0.2)));
}
