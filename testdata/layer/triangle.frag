#version 450
layout(constant_id = 3) const int KIND = 0;
layout(set = 1, binding = 2) uniform sampler2D picture;
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 color;
void main()
{
    color = KIND == 1 ? shade : shade * texture(picture, shade.xy);
}
