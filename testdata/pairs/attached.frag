#version 450
// Input attachments at this pixel, with one sample and with four, and samples of a texture.
layout(input_attachment_index = 0, set = 1, binding = 0) uniform subpassInput albedo;
layout(input_attachment_index = 1, set = 1, binding = 1) uniform subpassInputMS lit;
layout(set = 1, binding = 2) uniform sampler2DMS samples;
layout(location = 0) in vec3 normal;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 result;

void main() {
    vec4 sum = subpassLoad(albedo) + subpassLoad(lit, 1) - subpassLoad(lit, 3);
    ivec2 at = ivec2(gl_FragCoord.xy) % textureSize(samples);
    result = sum + texelFetch(samples, at, 2) * color + 0.1 * normal.x;
}
