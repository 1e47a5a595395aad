#version 450
#extension GL_ARB_shader_stencil_export : require
// draw triangles 9
// depth less 0.9
// stencil 7 9
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(location = 0) out vec4 a;
void main() {
    gl_FragStencilRefARB = 50 * which + int(gl_FragCoord.x) % 5;
    a = vec4(value, float(which));
}
