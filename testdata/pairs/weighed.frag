#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Barycentric weights, with and without perspective.
layout(location = 1) in vec4 color;
layout(location = 0) in vec3 normal;
layout(location = 0) out vec4 result;

void main() {
    result = vec4(gl_BaryCoordEXT, normal.z) + color * vec4(gl_BaryCoordNoPerspEXT, 1.0);
}
