#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// alike: lavapipe has no barycentric coordinates. They are the weights with which attributes are interpolated.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec2 smooth_;
layout(location = 1) noperspective in vec2 linear_;
layout(location = 2) pervertexEXT in vec4 each[3];
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    vec3 p = gl_BaryCoordEXT, n = gl_BaryCoordNoPerspEXT;
    a = vec4(each[0].xy * p.x + each[1].xy * p.y + each[2].xy * p.z, each[0].zw * n.x + each[1].zw * n.y + each[2].zw * n.z);
    b = vec4(smooth_, linear_);
}
