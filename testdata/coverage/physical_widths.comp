#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
// target vulkan1.2
// grid 2 1 1
// push zeros 10
// physical 10 bits 1024
// pointer push 0 10 0
// physical 11 floats 2048 -2 2
// pointer push 8 11 0
// physical 12 halves 1024 -2 2
// pointer push 16 12 0
// physical 13 doubles 512 -2 2
// pointer push 24 13 0
// physical 20 zeros 2560
// pointer push 32 20 0
// Loads and stores of every width through references, by component and as a whole, of vectors, matrices and structures.
layout(local_size_x = 32) in;

struct Small { uint8_t a; int8_t b; uint16_t c; };
struct Mixed { Small small; i16vec2 pair; uint64_t wide; vec3 place; float size; mat2x3 turn; u8vec4 bytes; };

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Bits { uint words[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) readonly buffer Bytes { uint8_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer Shorts { int16_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Longs { uint64_t at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Mixes { Mixed at[8]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Floats { vec4 at[512]; };
layout(buffer_reference, std430) readonly buffer Matrices { layout(row_major) mat3x4 rows; mat4x3 columns; vec2 rest[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer Halves { f16vec3 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Doubles { dvec2 at[]; };

struct Left {
    uint words; int shorts; uint64_t wide; vec4 floats; vec3 turned; f16vec3 half3; float16_t one; double sum;
    Mixed mixed; u16vec3 short3; uint8_t byte; i8vec2 byte2; mat2 matrix;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Out { Left at[]; };

layout(push_constant) uniform P {
    Bits bits;
    Floats floats;
    Halves halves;
    Doubles doubles;
    Out result;
} p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    Bytes bytes = Bytes(p.bits);
    Shorts shorts = Shorts(p.bits);
    Mixes mixes = Mixes(p.bits);
    Matrices matrices = Matrices(p.floats);

    p.result.at[i].words = p.bits.words[i] + uint(bytes.at[i * 3 + 1]);
    p.result.at[i].shorts = int(shorts.at[i * 5]) - int(shorts.at[i]);
    p.result.at[i].wide = Longs(p.bits).at[i] ^ 0x123456789abcul;
    p.result.at[i].floats = p.floats.at[i] * 2.0 + p.floats.at[i + 7].wzyx;
    p.result.at[i].turned = (matrices.rows[i % 3] * 0.5).xyz + matrices.columns[i & 3] + matrices.rest[i].xyx;
    p.result.at[i].half3 = p.halves.at[i] + f16vec3(1, 2, 3);
    p.result.at[i].one = p.halves.at[i + 9].y;
    dvec2 d = p.doubles.at[i];
    p.result.at[i].sum = d.x + d.y * 3.0lf;
    Mixed m = mixes.at[i & 7];
    m.place = vec3(p.floats.at[i].xy, m.pair.x);
    m.size = float(m.small.b);
    m.turn = mat2x3(p.floats.at[i].xyz, p.floats.at[i + 1].xyz);
    m.small.a += uint8_t(i);
    p.result.at[i].mixed = m;
    p.result.at[i].short3 = u16vec3(shorts.at[i], m.small.c, i);
    p.result.at[i].byte = bytes.at[i + 77];
    p.result.at[i].byte2 = i8vec2(m.bytes.zw);
    p.result.at[i].matrix = mat2(p.floats.at[i]);
    if ((i & 1) != 0) p.result.at[i].matrix[1].y = 4.0;
}
