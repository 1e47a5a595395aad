#version 450
// Results that are constants, the same value several times, and of several widths; depth is one of them too.
layout(location = 0) in vec4 sum;
layout(location = 1) in vec4 passed;
layout(location = 2) flat in uint kind;
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 constants;
layout(location = 2) out uvec4 numbers;
layout(location = 3) out vec2 again;

void main() {
    float shared_value = clamp(sum.x * 0.25 + 0.5, 0.0, 1.0);
    if (kind == 3u) discard;
    color = vec4(sum.yz, shared_value, 1.0);
    constants = vec4(0.25, 3.140625, shared_value, 0.0);
    numbers = uvec4(kind, 5u, 0u, kind);
    again = vec2(shared_value, passed.w);
    gl_FragDepth = shared_value;
}
