#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
// Each 16-bit value is passed in a 32-bit channel.
layout(location = 0) out f16vec4 smooth_;
layout(location = 1) noperspective out f16vec2 line[2];
layout(location = 3) flat out float16_t given;
layout(location = 4) flat out i16vec3 signed_;
layout(location = 5) flat out uint16_t plain;
layout(location = 5, component = 1) flat out float beside;
layout(location = 6) out Mixed { float16_t inner; flat u16vec2 numbers; vec2 wide; } mixed;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.5 * w, w);
    smooth_ = f16vec4(at, w, 0.75);
    line[0] = f16vec2(at.yx * 2.0);
    line[1] = f16vec2(at * 5.0);
    given = float16_t(1.0 / float(gl_VertexIndex + 3));
    signed_ = i16vec3(int16_t(-300 - gl_VertexIndex), 77, int16_t(gl_VertexIndex * -2));
    plain = uint16_t(60000 + gl_VertexIndex);
    beside = 0.3;
    mixed.inner = float16_t(at.x * 0.5);
    mixed.numbers = u16vec2(65535us, uint16_t(gl_VertexIndex + 9));
    mixed.wide = at * 7.0;
}
