#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Weights of corners, and a value of each.
layout(location = 1) pervertexEXT in vec4 color[];
layout(location = 0) in vec3 normal;
layout(location = 0) out vec4 result;

void main() {
    vec3 w = gl_BaryCoordEXT;
    result = color[0] * w.x + color[1] * w.y + color[2] * w.z + vec4(gl_BaryCoordNoPerspEXT, normal.z);
}
