#version 450
#extension GL_EXT_buffer_reference : require
// A tree of nodes by address, with column matrices.
layout(buffer_reference, std430) buffer Node;
layout(buffer_reference, std430) buffer Node {
    vec4 columns[4];
    vec4 color;
    Node parent;
};

layout(push_constant) uniform Push {
    Node node;
    vec2 scale;
} push;

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec4 out_color;

vec4 times(Node n, vec4 v) {
    return n.columns[0] * v.x + n.columns[1] * v.y + n.columns[2] * v.z + n.columns[3] * v.w;
}

void main() {
    vec4 at = times(push.node.parent, times(push.node, vec4(position, 1.0)));
    gl_Position = vec4(at.xy * push.scale, at.zw);
    out_normal = normal;
    out_color = push.node.color;
}
