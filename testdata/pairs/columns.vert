#version 450
// P·(V·(M·v)) with every matrix as a structure of columns, as Slang emits them.
struct Columns {
    vec4 data[4];
};

layout(set = 0, binding = 0, std140) uniform Camera {
    Columns view;
    Columns projection;
    vec3 eye;
    float time;
} camera;

layout(push_constant, std430) uniform Object {
    Columns model;
    vec4 tint;
} object;

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec4 out_color;

vec4 times(Columns m, vec4 v) {
    return m.data[0] * v.x + m.data[1] * v.y + m.data[2] * v.z + m.data[3] * v.w;
}

void main() {
    vec4 world = times(object.model, vec4(position, 1.0));
    gl_Position = times(camera.projection, times(camera.view, world));
    out_normal = times(object.model, vec4(normal, 0.0)).xyz;
    out_color = vec4(uv, camera.time, 1.0) * object.tint;
}
