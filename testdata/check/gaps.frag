#version 450
layout(location = 0) in vec4 constant;
layout(location = 1) in vec4 missing;
layout(location = 2) in vec4 real;
layout(location = 3) in vec4 white;
layout(location = 4) in vec2 last;
layout(location = 0) out vec4 color;
void main() {
    color = constant + real * white + vec4(last, missing.xy);
}
