#version 450
// Clip distances that every pixel reads.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
out float gl_ClipDistance[3];

void main() {
    gl_Position = position;
    gl_ClipDistance[0] = color.x - 0.25;
    gl_ClipDistance[1] = color.y;
    gl_ClipDistance[2] = color.z + 1.0;
}
