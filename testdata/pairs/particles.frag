#version 450
layout(location = 0) in float age;
layout(location = 0) out vec4 result;

void main() {
    result = vec4(gl_PointCoord, age, 1.0);
}
