#version 450
// Distances from planes in a push constant, in the space of a structure of rows.
layout(push_constant) uniform Push {
    vec4 planes[2];
    vec4 rows[3];
} push;

layout(location = 0) in vec3 position;
out gl_PerVertex {
    vec4 gl_Position;
    float gl_ClipDistance[2];
};

void main() {
    vec4 p = vec4(position, 1.0);
    vec4 world = vec4(dot(push.rows[0], p), dot(push.rows[1], p), dot(push.rows[2], p), 1.0);
    gl_ClipDistance[0] = dot(push.planes[0], world);
    gl_ClipDistance[1] = dot(push.planes[1], world);
    gl_Position = world;
}
