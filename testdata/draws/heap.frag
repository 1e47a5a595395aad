#version 450
// A binding with a buffer element for the vertex shader and an image element for the fragment shader.
layout(location = 0) in vec4 color;
layout(location = 1) in vec2 place;
layout(location = 0) out vec4 target;
layout(set = 0, binding = 0) uniform texture2D images[2];
layout(set = 0, binding = 1) uniform sampler sampler_;

void main() {
    target = color + textureLod(sampler2D(images[1], sampler_), place * 0.5 + 0.5, 0.0);
}
