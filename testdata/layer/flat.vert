#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 color;
layout(location = 2) in vec2 shift;
layout(location = 0) flat out vec4 shade;
layout(push_constant) uniform Push { vec4 factor; } push;
void main()
{
    gl_Position = vec4(position.xy + shift, position.z, 1);
    shade = color * push.factor;
}
