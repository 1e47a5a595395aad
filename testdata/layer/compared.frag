#version 450
layout(constant_id = 1) const uint CASE = 0;
layout(set = 0, binding = 0) uniform Added { vec4 added; };
layout(set = 0, binding = 1) uniform sampler2DShadow picture;
layout(set = 0, binding = 2) buffer Seen { uint seen[]; };
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 color;
void main()
{
    vec2 at = gl_FragCoord.xy / vec2(45, 27);
    // The second reference is beyond all depths.
    vec3 passes = vec3(texture(picture, vec3(at, shade.x)), texture(picture, vec3(at, 1.0 + shade.y)),
                       textureGather(picture, at, 0.5).y);
    color = 0.5 * shade + added + 0.5 * passes.xyzx;
    seen[0] = CASE;
}
