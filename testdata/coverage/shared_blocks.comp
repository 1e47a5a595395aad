#version 450
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
// target vulkan1.2
// unjudged lavapipe gives each block memory of its own
// grid 2 1 1
// at 0 bits 128
// at 1 zeros 1024
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
shared Words { uint words[64]; };
shared Halves { uint16_t halves[128]; };
shared Bytes { uint8_t bytes[256]; };
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex, x = a[i];
    words[l] = x;
    barrier();
    b[i][0] = uint(halves[2u * (63u - l) + 1u]);
    b[i][1] = uint(bytes[(4u * l + 9u) & 255u]);
    barrier();
    bytes[l] = uint8_t(x);
    halves[127u - l] = uint16_t(x >> 3);
    barrier();
    b[i][2] = words[63u - l];
    b[i][3] = words[l];
}
