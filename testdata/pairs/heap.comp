#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Textures in an array without a length; each workgroup selects one from a buffer.
layout(local_size_x = 1) in;
struct Handle {
    uvec2 which;
    vec2 at;
};
layout(set = 0, binding = 0, std430) readonly buffer Handles {
    Handle handles[];
};
layout(set = 0, binding = 1, std430) buffer Out {
    float result[];
};
layout(set = 1, binding = 1) uniform sampler2D heap[];

void main() {
    uint i = gl_GlobalInvocationID.x;
    Handle handle = handles[i];
    result[i] = textureLod(heap[handle.which.x], handle.at, 0.0).x;
}
