#version 450
// Lacquer with gold inlays, and a floor that fades out: a sun with a GGX highlight, a studio reflection, filmic tone mapping.
layout(location = 0) in vec3 world;
layout(location = 1) in vec3 world_normal;
layout(location = 2) in vec2 uv;
layout(location = 3) in vec3 seen;
layout(set = 0, binding = 0) uniform View { mat4 clip_from_world; vec4 eye; vec4 sun; };
// Colour; alpha marks gold.
layout(set = 0, binding = 1) uniform sampler2D lacquer;
layout(location = 0) out vec4 color;

const vec3 backdrop = vec3(0.040, 0.046, 0.062);

// The environment: a dark room, a bright window above, a warm one at the side, the floor below.
vec3 studio(vec3 r, float blur) {
    vec3 room = mix(vec3(0.10, 0.085, 0.08), vec3(0.05, 0.08, 0.15), smoothstep(-0.3, 0.9, r.y));
    vec2 above = abs(r.xz / max(r.y, 0.05) - vec2(-0.3, 0.3)) - vec2(0.8, 0.35);
    float window = r.y > 0.05 ? 1.0 - smoothstep(-blur, blur, max(above.x, above.y)) : 0.0;
    vec2 beside = abs(r.yz / max(r.x, 0.05) - vec2(0.35, 0.4)) - vec2(0.5, 0.18);
    float lamp = r.x > 0.05 ? 1.0 - smoothstep(-blur, blur, max(beside.x, beside.y)) : 0.0;
    return room + vec3(2.6, 2.8, 3.1) * window + vec3(2.4, 1.5, 0.8) * lamp;
}

float ggx(float nh, float roughness) {
    float a = roughness * roughness, d = nh * nh * (a * a - 1.0) + 1.0;
    return a * a / (3.14159265 * d * d);
}

vec3 filmic(vec3 x) {
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

void main() {
    vec3 n = normalize(world_normal), v = normalize(eye.xyz - world), h = normalize(v + sun.xyz);
    float nl = max(dot(n, sun.xyz), 0.0), nv = max(dot(n, v), 1e-3);
    float roughness, metal;
    vec3 base;
    if (seen.z > 0.5) {
        vec4 texel = texture(lacquer, uv);
        base = texel.rgb;
        metal = texel.a;
        roughness = mix(0.16, 0.34, metal);
    } else {
        // Tiles; each pixel is the mean of the area that it covers.
        vec2 at = world.xz * 1.25, width = max(fwidth(at), vec2(1e-4));
        vec2 edge = (abs(fract((at - 0.5 * width) * 0.5) - 0.5) - abs(fract((at + 0.5 * width) * 0.5) - 0.5)) * 2.0 / width;
        base = mix(vec3(0.055, 0.06, 0.075), vec3(0.16, 0.165, 0.18), 0.5 - 0.5 * edge.x * edge.y);
        metal = 0.0;
        roughness = 0.42;
    }
    vec3 f0 = mix(vec3(0.045), base, metal);
    vec3 fresnel = f0 + (max(vec3(1.0 - roughness), f0) - f0) * pow(1.0 - nv, 5.0);
    vec3 key = vec3(3.4, 3.0, 2.6) * seen.x * nl;
    vec3 sky = mix(vec3(0.10, 0.09, 0.10), vec3(0.34, 0.40, 0.55), n.y * 0.5 + 0.5) * seen.y;
    vec3 diffuse = base * (1.0 - metal) * (key + sky);
    vec3 highlight = f0 * ggx(max(dot(n, h), 0.0), roughness) * key * 0.35;
    vec3 around = studio(reflect(-v, n), roughness * 0.9) * fresnel * mix(seen.y, 1.0, 0.25);
    vec3 lit = diffuse + highlight + around;
    // The floor blends into the backdrop.
    float away = seen.z > 0.5 ? 0.0 : smoothstep(2.2, 6.5, length(world.xz));
    color = vec4(filmic(mix(lit, backdrop, away)), 1.0);
}
