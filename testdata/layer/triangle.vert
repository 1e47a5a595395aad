#version 450
layout(location = 0) in vec2 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 shade;
layout(push_constant) uniform Push { vec2 offset; } push;
void main()
{
    gl_Position = vec4(position + push.offset, 0, 1);
    shade = color;
}
