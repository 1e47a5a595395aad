#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
// interpreted: lavapipe 22.3 has no storageInputOutput16
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R16G16B16A16_SFLOAT
// attachment R32G32B32A32_SINT
// attachment R16G16B16A16_UINT
// attachment R8G8B8A8_UNORM
layout(location = 0) in f16vec4 smooth_;
layout(location = 1) noperspective in f16vec2 line[2];
layout(location = 3) flat in float16_t given;
layout(location = 4) flat in i16vec3 signed_;
layout(location = 5) flat in uint16_t plain;
layout(location = 5, component = 1) flat in float beside;
layout(location = 6) in Mixed { float16_t inner; flat u16vec2 numbers; vec2 wide; } mixed;
layout(location = 0) out f16vec4 a;
layout(location = 1) out f16vec4 b;
layout(location = 2) out i16vec4 c;
layout(location = 3) out u16vec4 d;
layout(location = 4) out f16vec4 e;
void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    a = smooth_ * f16vec4(1.0hf, 0.5hf, 1.0hf, 2.0hf);
    b = f16vec4(line[p.x & 1], given, float16_t(beside) + mixed.inner);
    c = i16vec4(signed_, int16_t(p.x - 16)) - i16vec4(int16_t(p.y));
    d = u16vec4(plain, mixed.numbers, uint16_t(p.x * 2047));
    e = f16vec4(mixed.inner, f16vec2(mixed.wide) * 0.0625hf + 0.5hf, 1.0hf);
}
