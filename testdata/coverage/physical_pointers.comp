#version 450
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// target vulkan1.2
// grid 2 1 1
// at 0 zeros 2048
// at 1 bits 32
// pointer 1 0 0 0
// pointer 1 8 10 0
// pointer 1 16 11 32
// push zeros 4
// pointer push 0 10 48
// pointer push 8 11 0
// physical 10 bits 32
// pointer 10 0 10 32
// pointer 10 32 10 96
// pointer 10 48 10 0
// pointer 10 96 10 48
// physical 11 bits 256
// Addresses as values: a list that leads round, addresses in bound buffers and behind other addresses, arithmetic on
// references, conversions of numbers to references and back, selects between them, and stored addresses.
layout(local_size_x = 32) in;

layout(buffer_reference, buffer_reference_align = 16) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { Node next; uint value; uint count; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Word { uint value; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pair { uvec2 value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Rows { uint row[32]; };

layout(set = 0, binding = 0, std430) buffer Out { uint left[]; };
layout(set = 0, binding = 1, std430) readonly buffer Table { uint64_t result; Node first; uvec2 word; uint noise[]; };
layout(push_constant) uniform P { Node head; Word words; } p;

uint sum(Word from, uint count) {
    uint total = 0;
    for (uint n = 0; n < count; n++) total += from[n].value * (n + 1);
    return total;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    // As many steps around the list as the lane's index.
    Node node = p.head;
    uint seen = 0;
    for (uint n = 0; n < (i & 7u); n++) {
        seen = seen * 31u + node.value;
        node = node.next;
    }
    left[i] = seen + first.count;
    left[64 + i] = uint(uint64_t(node) - uint64_t(first));
    left[128 + i] = sum(p.words + int(i), 1u + (i & 3u));

    // A number used in ordinary arithmetic, and an address in two halves.
    uint64_t number = uint64_t(p.words) + 4ul * uint64_t((i * 7u) & 63u);
    left[192 + i] = Word(number).value;
    left[256 + i] = (Word(word) - int(i & 7u) + 3).value;
    uvec2 halves = uvec2(p.words + int(i));
    left[320 + i] = Word(halves).value ^ Word(uvec2(halves.x - 4u * (i & 3u), halves.y)).value;

    // One of two buffers, selected per lane.
    Word either = (noise[i & 7u] & 1u) != 0u ? Word(uint64_t(node)) : p.words + 5;
    left[384 + i] = either[2].value;
    left[448 + i] = uint(uint64_t(p.words + 100) - uint64_t(p.words)) + uint(uint64_t(p.words + int(i)) != uint64_t(p.words));

    // The bound buffer by its address: addresses are stored in it, read again, and overwritten.
    Pair kept = Pair(result + 8ul * uint64_t(512u + i));
    kept.value = uvec2(p.words + int(i));
    Word back = Word(kept.value);
    uint found = back.value;
    kept.value = uvec2(found, i);
    Rows rows = Rows(result + 4096ul + 512ul);
    rows[i >> 3].row[i & 7u] = noise[i & 7u] * i;
    rows[i >> 3].row[8u + (i & 7u)] = uint(rows.row.length()) + i;
}
