#version 450
// Bones in a texture, a row-major matrix, a point in a cube.
layout(location = 0) in vec2 corner;
layout(location = 1) in vec4 tint;
layout(location = 2) in uvec2 bones;
layout(location = 0) out vec3 direction;
layout(location = 1) out vec2 place;
layout(location = 2) flat out uvec2 bone;
layout(location = 3) out vec4 color;
layout(set = 0, binding = 0) uniform Camera { mat4 projection; layout(row_major) mat3 turn; float size; } camera;
layout(set = 0, binding = 1) uniform sampler2D moved;

void main() {
    vec4 shift = texelFetch(moved, ivec2(bones), 0) * 0.05;
    direction = camera.turn * vec3(corner, 0.75);
    place = corner * camera.size + shift.xy;
    bone = bones;
    color = tint;
    gl_Position = camera.projection * vec4(corner + shift.zw, 0.25, 1.0);
}
