#version 450
// Points positioned by a buffer, smaller with distance, down to six pixels.
struct Particle {
    vec3 position;
    float age;
    vec3 velocity;
    float size;
};

layout(set = 0, binding = 0, std430) readonly buffer Particles {
    Particle particles[];
};

layout(set = 0, binding = 1, std140) uniform Frame {
    vec4 view[4];
    vec4 lens;
    float time;
    float pixels;
} frame;

layout(location = 0) out float age;

void main() {
    Particle p = particles[gl_VertexIndex];
    vec4 v = vec4(p.position + p.velocity * frame.time, 1.0);
    v = frame.view[0] * v.x + frame.view[1] * v.y + frame.view[2] * v.z + frame.view[3] * v.w;
    gl_Position = vec4(v.xy * frame.lens.xy, v.z * frame.lens.z + frame.lens.w, -v.z);
    gl_PointSize = max(p.size * frame.pixels / gl_Position.w, 6.0);
    age = p.age;
}
