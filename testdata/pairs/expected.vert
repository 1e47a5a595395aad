#version 450
// The vertex shader tests; the fragment shader only passes the result on.
layout(set = 0, binding = 0) uniform Test {
    ivec4 expected;
    dvec2 wide;
} test;
layout(location = 0) in vec2 position;
layout(location = 1) in ivec4 value;
layout(location = 0) out vec4 color;
void main() {
    gl_Position = vec4(position, 0.0, 1.0);
    color = vec4(1.0, 0.0, 0.0, 1.0);
    if (value == test.expected && dvec2(position.xx) * 2.0LF == test.wide) {
        color = vec4(0.0, 1.0, 0.0, 1.0);
    }
}
