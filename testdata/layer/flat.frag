#version 450
layout(constant_id = 1) const uint CASE = 0;
layout(set = 0, binding = 0) uniform Added { vec4 added; };
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) buffer Seen { uint seen[]; };
layout(location = 0) flat in vec4 shade;
layout(location = 0) out vec4 color;
void main()
{
    vec4 own = texelFetch(picture, ivec2(gl_FragCoord.xy) & 3, 0);
    color = shade + added + 0.25 * own + 0.125 * texture(picture, shade.xy);
    seen[0] = CASE;
}
