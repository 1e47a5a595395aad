// The material of all objects, as an engine writes one shader and specializes it: octaves of noise, lights and patterns make 160
// versions.
#version 450
layout(constant_id = 0) const int OCTAVES = 1;
layout(constant_id = 1) const int LIGHTS = 1;
layout(constant_id = 2) const int PATTERN = 0;

layout(location = 0) in vec3 normal;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 color;

layout(set = 0, binding = 0) uniform Scene {
    vec4 lights[8]; // where they are, and how bright
    vec4 tints[8];
    vec4 eye;
} scene;

float random(vec2 at)
{
    return fract(sin(dot(at, vec2(12.9898, 78.233))) * 43758.5453);
}

float noise(vec2 at)
{
    vec2 cell = floor(at), in_cell = fract(at);
    vec2 weight = in_cell * in_cell * (3.0 - 2.0 * in_cell);
    float top = mix(random(cell), random(cell + vec2(1.0, 0.0)), weight.x);
    float bottom = mix(random(cell + vec2(0.0, 1.0)), random(cell + vec2(1.0, 1.0)), weight.x);
    return mix(top, bottom, weight.y);
}

vec3 surface(float grain)
{
    switch (PATTERN) {
    case 1: return mix(vec3(0.35, 0.2, 0.1), vec3(0.75, 0.55, 0.3), fract(8.0 * (uv.x + 0.2 * grain)));
    case 2: return vec3(step(0.5, fract(4.0 * uv.x)) == step(0.5, fract(4.0 * uv.y)) ? 0.8 : 0.2) * (0.7 + 0.3 * grain);
    case 3: return mix(vec3(0.1, 0.3, 0.15), vec3(0.5, 0.6, 0.3), smoothstep(0.3, 0.7, grain));
    default: return vec3(0.6, 0.6, 0.65) * (0.8 + 0.2 * grain);
    }
}

void main()
{
    float grain = 0.0, size = 0.5;
    vec2 at = 8.0 * uv;
    for (int n = 0; n < OCTAVES; n++) {
        grain += size * noise(at);
        at = mat2(1.6, 1.2, -1.2, 1.6) * at;
        size *= 0.5;
    }
    vec3 albedo = surface(grain);
    vec3 facing = normalize(normal), point = vec3(uv * 2.0 - 1.0, 0.0);
    vec3 view = normalize(scene.eye.xyz - point), sum = 0.05 * albedo;
    for (int n = 0; n < LIGHTS; n++) {
        vec3 to = scene.lights[n].xyz - point;
        vec3 direction = normalize(to);
        float lit = max(dot(facing, direction), 0.0) * scene.lights[n].w / (1.0 + dot(to, to));
        float shine = pow(max(dot(facing, normalize(direction + view)), 0.0), 24.0);
        sum += lit * (albedo + 0.4 * shine) * scene.tints[n].rgb;
    }
    color = vec4(sum / (1.0 + sum), 1.0);
}
