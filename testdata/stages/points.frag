#version 450
// draw points 16
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    a = vec4(gl_PointCoord, gl_FrontFacing ? 1.0 : 0.25, 1.0);
    b = vec4(dFdxFine(gl_PointCoord.x), gl_PointCoord.y * 2.0, at);
}
