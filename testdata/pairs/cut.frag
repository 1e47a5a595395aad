#version 450
in float gl_ClipDistance[2];
layout(location = 0) out vec4 result;

void main() {
    result = vec4(gl_ClipDistance[0], gl_ClipDistance[1], gl_ClipDistance[0] * gl_ClipDistance[1], 1.0);
}
