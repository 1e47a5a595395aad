#version 450
// draw triangles 9
// blend product
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(location = 0, index = 0) out vec4 color;
layout(location = 0, index = 1) out vec4 weight;
void main() {
    color = vec4(0.5 + 0.4 * value, 0.25 * float(which));
    weight = vec4(0.9 - 0.2 * float(which), 0.3 + 0.5 * value.xy, 0.5);
}
