#version 450
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 beyond[4];
void main() {
    mat4 rows = mat4(1.0);
    int n = -1;
    for (int i = 0; i < 4; i++) {
        beyond[i] = rows[n];
    }
    gl_Position = place;
}
