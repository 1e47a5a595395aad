#version 450
// Colours from a buffer to eight attachments of any format.
layout(set = 0, binding = 0) readonly buffer B { ivec4 colors[8][256]; };
layout(location = 0) out ivec4 results[8];
void main() {
    uint pixel = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    for (uint n = 0u; n < 8u; ++n) results[n] = colors[n][pixel];
}
