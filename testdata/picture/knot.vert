#version 450
// A knot on a floor: transforms to clip space, with the inputs of the fragment shader's lighting.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 place;
// Visibility of the sun and of the sky, and which of the two objects this is.
layout(location = 3) in vec3 light;
layout(set = 0, binding = 0) uniform View { mat4 clip_from_world; vec4 eye; vec4 sun; };
layout(location = 0) out vec3 world;
layout(location = 1) out vec3 world_normal;
layout(location = 2) out vec2 uv;
layout(location = 3) out vec3 seen;

void main() {
    gl_Position = clip_from_world * vec4(position, 1.0);
    world = position;
    world_normal = normal;
    uv = place * vec2(12.0, 2.0);
    seen = light;
}
