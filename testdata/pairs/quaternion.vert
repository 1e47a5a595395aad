#version 450
// Nested transforms of translation, scale and quaternion; the eye looks along -z, and w is the distance ahead.
struct Transform {
    vec3 translation;
    float scale;
    vec4 rotation;
};

struct Camera {
    Transform view;
    vec4 lens;
};

layout(set = 0, binding = 0, std140) uniform Globals {
    Camera camera;
    Transform parts[3];
    vec4 tint;
} globals;

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in uint part;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec4 out_color;

vec3 turned(vec4 q, vec3 v) {
    return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

vec3 moved(Transform t, vec3 v) {
    return t.translation + t.scale * turned(t.rotation, v);
}

void main() {
    Transform t = globals.parts[part % 3u];
    vec3 v = moved(globals.camera.view, moved(t, position));
    vec4 lens = globals.camera.lens;
    gl_Position = vec4(v.x * lens.x, v.y * lens.y, v.z * lens.z + lens.w, -v.z);
    out_normal = turned(t.rotation, normal);
    out_color = globals.tint;
}
