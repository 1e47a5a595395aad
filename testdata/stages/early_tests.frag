#version 450
// Hidden fragments have no effect: depth is tested before the fragment shader runs.
// draw triangles 9
// depth less 0.9
// at 0 zeros 16
// attachment R32G32B32A32_SFLOAT
layout(early_fragment_tests) in;
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(set = 0, binding = 0) buffer B { uint count[]; };
layout(location = 0) out vec4 a;
void main() {
    atomicAdd(count[which], 1u);
    if (value.x > 0.5 && which == 2) discard;
    a = vec4(value, float(which));
}
