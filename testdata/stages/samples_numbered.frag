#version 450
// alike: lavapipe evaluates undecorated inputs at the pixel's centre. If a shader reads SampleId, Vulkan evaluates all inputs at the sample, as decorated ones are.
// samples 4
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec2 smooth_;
layout(location = 1) noperspective in vec2 linear_;
layout(location = 2) centroid in vec2 inside;
layout(location = 3) sample in vec2 smooth_each;
layout(location = 4) noperspective sample in vec2 linear_each;
layout(location = 5) sample in vec2 inside_each;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    // Squares, because the average of a linear value equals the value at the centre.
    uint own = 1u << gl_SampleID;
    a = vec4(smooth_.x * inside.y, linear_ * linear_, gl_SampleMaskIn[0]);
    b = vec4(smooth_each.x * inside_each.y, linear_each * linear_each, own);
}
