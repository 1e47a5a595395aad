#version 450
// draw triangles 24
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
in float gl_ClipDistance[2];
in float gl_CullDistance[1];
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    a = vec4(gl_ClipDistance[0], gl_ClipDistance[1], place);
    b = vec4(gl_CullDistance[0], place, 1.0);
}
