#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, rgba8) writeonly uniform image2D shown;
void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    imageStore(shown, at, textureLod(picture, (vec2(at) + 0.5) / vec2(imageSize(shown)), 0.0));
}
