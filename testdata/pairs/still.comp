#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
void main() {
    result[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x * 2654435761u;
}
