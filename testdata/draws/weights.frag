#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Barycentric coordinates; the fourth channel is 1 where they are the same with and without perspective.
layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_BaryCoordEXT, distance(gl_BaryCoordEXT, gl_BaryCoordNoPerspEXT) < 0.001);
}
