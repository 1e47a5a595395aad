#version 450
// draw triangles 9
// depth less 0.9
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(location = 0) out vec4 a;
void main() {
    gl_FragDepth = which == 1 ? value.z * 0.75 + 0.1 : gl_FragCoord.z;
    a = vec4(value, float(which));
}
