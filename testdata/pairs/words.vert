#version 450
// A driver that translates OpenGL declares blocks as words, whatever they hold.
layout(set = 0, binding = 0, std140) uniform U { uvec4 u[5]; };
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 tint;
layout(location = 0) out vec4 shade;
void main() {
    mat4 m = mat4(uintBitsToFloat(u[0]), uintBitsToFloat(u[1]), uintBitsToFloat(u[2]), uintBitsToFloat(u[3]));
    gl_Position = m * place;
    shade = tint * uintBitsToFloat(u[4]);
}
