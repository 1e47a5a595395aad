#version 450
// A binding with a buffer element for the vertex shader and an image element for the fragment shader.
layout(location = 0) in vec4 position;
layout(location = 0) out vec4 color;
layout(location = 1) out vec2 place;
layout(set = 0, binding = 0) uniform Colors { vec4 colors[4]; } blocks[1];

void main() {
    gl_Position = position;
    color = blocks[0].colors[gl_VertexIndex & 3];
    place = position.xy;
}
