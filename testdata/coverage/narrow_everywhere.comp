#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
// grid 2 1 1
// push dwords 305419896 2596069104 1127219200 4660
// uniform 0 bits 64
// at 1 bits 256
// at 2 zeros 1024
layout(local_size_x = 32) in;
layout(push_constant) uniform P { uint8_t p8[4]; uint16_t p16[2]; f16vec2 ph; i8vec4 pv; };
struct Narrow { u8vec4 bytes; i16vec2 shorts; f16vec2 halves; uint16_t one; uint8_t two; };
layout(set = 0, binding = 0) uniform U { Narrow u[8]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
layout(set = 0, binding = 2) buffer B { uint b[][16]; };
void main() {
    uint i = gl_GlobalInvocationID.x, x = a[i];
    b[i][0] = uint(p8[x & 3u]) + 1000u * uint(p16[1]) + uint(p16[x >> 31]);
    b[i][1] = x + floatBitsToUint(float(ph.x) + float(ph.y));
    b[i][2] = uint(int(pv.w) * 7 + int(pv.y));
    Narrow n = u[x >> 29];
    b[i][3] = uint(n.bytes.x) | uint(n.bytes.w) << 9;
    b[i][4] = uint(int(n.shorts.x) - int(n.shorts.y));
    b[i][5] = uint(float16BitsToUint16(n.halves.y));
    b[i][6] = uint(n.one) * 3u + uint(n.two);
}
