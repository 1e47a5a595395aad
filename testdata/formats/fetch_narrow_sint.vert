#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
// As fetch_sint, with 16-bit inputs.
layout(location = 0) in i16vec4 attributes[8];
layout(location = 0) flat out ivec4 values[8];
void main() {
    ivec2 pixel = ivec2(gl_VertexIndex % 16, gl_VertexIndex / 16 + 2 * gl_InstanceIndex);
    gl_Position = vec4((vec2(pixel) + 0.5) / 8.0 - 1.0, 0.5, 1.0);
    gl_PointSize = 1.0;
    for (int i = 0; i < 8; ++i) values[i] = ivec4(attributes[i]);
}
