#version 450
// target vulkan1.2
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 8 8 combined nearest 1 cube_array 12
// at 1 zeros 1024
// Layers that a cube array does not have: the nearest existing layer is read, with the same face.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform samplerCubeArray cubes;
layout(set = 0, binding = 1) buffer B { vec4 b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    float layer[8] = float[8](-3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 40.0, -100.0);
    vec3 directions[6] =
        vec3[6](vec3(1, 0, 0), vec3(-1, 0, 0), vec3(0, 1, 0), vec3(0, -1, 0), vec3(0, 0, 1), vec3(0, 0, -1));
    vec3 d = directions[i / 8u % 6u] + vec3(0.19, 0.07, 0.31) * (i < 48u ? 1.0 : -1.0);
    b[i] = textureLod(cubes, vec4(d, layer[i % 8u]), 0.0);
}
