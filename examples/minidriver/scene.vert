// The vertex shader of all objects. Its constants make eight versions.
#version 450
layout(constant_id = 0) const int WAVES = 0;
layout(constant_id = 1) const bool MIRRORED = false;

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec2 out_uv;

layout(push_constant) uniform Object { vec4 place; } object;

void main()
{
    vec3 at = position * object.place.w + object.place.xyz;
    for (int n = 1; n <= WAVES; n++)
        at.y += 0.03 * sin(at.x * float(3 * n) + float(n)) / float(n);
    if (MIRRORED)
        at.x = -at.x;
    gl_Position = vec4(at, 1.0);
    out_normal = normal;
    out_uv = uv;
}
