#version 450
#extension GL_EXT_samplerless_texture_functions : require
// The image of a binding whose sampler the fragment shader uses.
layout(location = 0) in vec4 position;
layout(location = 0) out vec4 color;
layout(location = 1) out vec2 place;
layout(set = 0, binding = 0) uniform texture2D image;

void main() {
    gl_Position = position;
    color = texelFetch(image, ivec2(gl_VertexIndex & 3, 1), 0);
    place = position.xy;
}
