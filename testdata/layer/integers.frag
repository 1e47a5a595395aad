#version 450
layout(constant_id = 1) const uint CASE = 0;
layout(set = 0, binding = 0) uniform Added { vec4 added; };
layout(set = 0, binding = 1) uniform usampler2D picture;
layout(set = 0, binding = 2) buffer Seen { uint seen[]; };
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 color;
void main()
{
    uint own = texelFetch(picture, ivec2(gl_FragCoord.xy), 0).r, other = texture(picture, shade.xy).r;
    color = 0.5 * shade + added + vec4(own & 15, own >> 4, other & 15, other >> 4) / 32.0;
    seen[0] = CASE;
}
