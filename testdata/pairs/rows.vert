#version 450
// Row vectors: matrices of three and four rows in nested structures of a storage buffer, selected by a push constant.
struct Rows {
    vec4 x, y, z;
};

struct Full {
    vec4 row[4];
};

struct Camera {
    vec4 planes[2];
    Full view;
    Full projection;
};

struct Part {
    float weight;
    Rows world;
    vec4 color;
};

layout(set = 0, binding = 1, std430) readonly buffer Scene {
    Camera camera;
    Part parts[];
} scene;

layout(push_constant) uniform Push {
    uint part;
    float scale;
} push;

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec4 out_color;

vec3 moved(Rows m, vec4 v) {
    return vec3(dot(m.x, v), dot(m.y, v), dot(m.z, v));
}

vec4 times(Full m, vec4 v) {
    return vec4(dot(m.row[0], v), dot(m.row[1], v), dot(m.row[2], v), dot(m.row[3], v));
}

void main() {
    Part part = scene.parts[push.part];
    vec4 world = vec4(moved(part.world, vec4(position * push.scale, 1.0)), 1.0);
    gl_Position = times(scene.camera.projection, times(scene.camera.view, world));
    out_normal = moved(part.world, vec4(normal, 0.0));
    out_color = part.color * part.weight;
}
