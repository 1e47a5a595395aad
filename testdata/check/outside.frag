#version 450
// A component read out of an array's bounds, which only the code generator finds.
layout(location = 0) out vec4 color;
float list[5];
int at = -2;
void main() {
    color = vec4(0.0, 1.0, 0.0, list[at]);
}
