#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Per-vertex inputs, read out of order and with a dynamic index.
layout(location = 1) pervertexEXT in vec4 color[3];
layout(location = 0) pervertexEXT in vec3 place[3];
layout(location = 0) out vec4 result;

void main() {
    int n = int(gl_FragCoord.x) % 3;
    result = vec4(color[2].rg - color[0].gb, place[n].x, place[1].y + color[(n + 1) % 3].a);
}
