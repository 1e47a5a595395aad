#version 450
#extension GL_EXT_fragment_shading_rate : require
layout(location = 0) flat out int expected;
void main() {
    int triangle = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
    vec2 at = vec2(corner == 1 ? 0.45 : 0.02, corner == 2 ? 0.45 : 0.02);
    gl_Position = vec4(at + vec2(triangle % 4, triangle / 4) * 0.5 - 1.0, 0.5, 1.0);
    // All rates, including those that the hardware lacks: more than two pixels become two.
    gl_PrimitiveShadingRateEXT = triangle % 3 | triangle / 3 % 3 << 2;
    expected = (triangle % 3 > 0 ? 1 : 0) | (triangle / 3 % 3 > 0 ? 4 : 0);
}
