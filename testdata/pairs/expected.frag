#version 450
// Green if a result is the expected one, which is tested after another test.
layout(set = 0, binding = 1) uniform Test {
    int argument;
    int expected;
    vec3 from;
    vec3 to;
} test;
layout(location = 0) out vec4 result;
void main() {
    result = vec4(1.0, 0.0, 0.0, 1.0);
    if (findMSB(test.argument * 77) == test.expected) {
        if (distance(test.from * 3.0 + 0.125, test.to) < 0.001) {
            result = vec4(0.0, 1.0, 0.0, 1.0);
        }
    }
}
