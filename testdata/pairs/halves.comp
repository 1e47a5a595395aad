#version 450
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_buffer_reference : require
// Addresses given as two words: in push constants with an index, and in a uniform buffer.
layout(local_size_x = 64) in;
layout(buffer_reference, std430) buffer Floats {
    float x[256];
};
layout(push_constant) uniform Push {
    uint count;
    uint first;
    uvec2 from;
} push;
layout(set = 0, binding = 0, std140) uniform Block {
    vec4 scale;
    uvec2 to;
} block;

void main() {
    uint i = gl_GlobalInvocationID.x;
    Floats from = Floats(push.from);
    Floats to = Floats(block.to);
    if (i < push.count)
        to.x[i] = from.x[i ^ 1u] * block.scale.y;
}
