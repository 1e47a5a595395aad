#version 450
// A read beyond a matrix is undefined, which only the code generator finds.
layout(location = 0) in vec4 beyond[4];
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 sum;
void main() {
    mat4 rows = mat4(1.0);
    int n = -1;
    color = rows[n];
    sum = beyond[0] + beyond[1] + beyond[2] + beyond[3];
}
