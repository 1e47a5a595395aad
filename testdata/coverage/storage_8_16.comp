#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// grid 2 1 1
// at 0 bits 512
// at 1 zeros 512
layout(local_size_x = 32) in;
struct S { uint8_t a; uint16_t b; u8vec3 c; uint d; };
layout(set = 0, binding = 0, std430) readonly buffer A { S a[]; };
layout(set = 0, binding = 1, std430) buffer B { S b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    S s = a[i];
    b[i].a = s.c.y;
    b[i].b = s.b + uint16_t(s.a);
    b[i].c = u8vec3(s.c.z, s.a, uint8_t(s.d));
    b[i].d = uint(s.b) * 3u + s.d;
}
