#version 450
// draw triangles 9
// depth less 0.9
// attachment R32G32B32A32_SFLOAT
layout(depth_less) out float gl_FragDepth;
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(location = 0) out vec4 a;
void main() {
    gl_FragDepth = gl_FragCoord.z - 0.01 * float(which);
    a = vec4(value, float(which));
}
