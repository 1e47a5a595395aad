#version 450
layout(location = 0) out vec4 result;
void main() {
    result = vec4(fract(gl_FragCoord.xy * 0.125), 0.25, 1.0);
}
