#version 450
// A cube and a texture with levels, derivatives, a discard, depth, and a second target of integers.
layout(location = 0) in vec3 direction;
layout(location = 1) in vec2 place;
layout(location = 2) flat in uvec2 bone;
layout(location = 3) in vec4 color;
layout(location = 0) out vec4 shaded;
layout(location = 1) out uvec2 chosen;
layout(set = 0, binding = 2) uniform samplerCube sky;
layout(set = 0, binding = 3) uniform sampler2D skin;
layout(set = 0, binding = 4, std140) uniform Look { vec4 light; float opacity; int kind; } look;

void main() {
    vec4 base = texture(skin, place) * color;
    vec3 reflected = texture(sky, direction).rgb;
    vec2 slope = vec2(dFdx(place.x), dFdy(place.y));
    shaded = vec4(mix(base.rgb, reflected, look.opacity), 0.5 + slope.x) * look.light.x;
    chosen = bone + uvec2(look.kind, gl_FrontFacing ? 1 : 2);
    gl_FragDepth = gl_FragCoord.z * 0.5 + 0.25;
    if (color.x + color.y < 0.35) discard;
}
