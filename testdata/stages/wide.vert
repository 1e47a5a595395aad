#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// 64-bit values are passed as pairs of channels; vectors of three and four continue in the next location.
layout(location = 0) flat out double one;
layout(location = 1) flat out dvec3 three;
layout(location = 3) flat out dvec4 four[2];
layout(location = 7) flat out i64vec2 two;
layout(location = 8) flat out u64vec3 whole;
layout(location = 10, component = 0) flat out float narrow;
layout(location = 10, component = 2) flat out double beside;
layout(location = 11) out Mixed { flat double inner; flat uint64_t number; flat uint small; } mixed;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    gl_Position = vec4(at, 0.5, 1.0);
    double third = double(gl_VertexIndex + 1) / 3.0LF;
    one = third;
    three = dvec3(third, third * third, 1.0LF / third);
    four[0] = dvec4(third + 1.0LF, 0.1LF, third + 3.0LF, third + 4.0LF);
    four[1] = dvec4(third * 5.0LF, third * 6.0LF, 0.7LF, third * 8.0LF);
    two = i64vec2(-0x123456789abcdefL - int64_t(gl_VertexIndex), 5L);
    whole = u64vec3(0xfedcba9876543210UL, uint64_t(gl_VertexIndex) << 40, 77UL);
    narrow = 2.5;
    beside = third / 7.0LF;
    mixed.inner = third / 11.0LF;
    mixed.number = 0x100000000UL * uint64_t(gl_VertexIndex + 3);
    mixed.small = 9u;
}
