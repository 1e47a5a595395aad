#version 450
// A component that comes from outside of an array, which only the code generator finds out.
layout(location = 0) out vec4 color;
float list[5];
int at = -2;
void main() {
    color = vec4(0.0, 1.0, 0.0, list[at]);
}
