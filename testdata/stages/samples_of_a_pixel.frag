#version 450
// Several samples, shaded once per pixel: each covered sample gets the pixel's colour.
// samples 4
// draw triangles 3
// edges 100
// step 0.001
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
layout(location = 0) in vec2 smooth_;
layout(location = 1) noperspective in vec2 linear_;
layout(location = 0) out vec4 a;
layout(location = 1) out uvec4 b;
void main() {
    a = vec4(smooth_ * smooth_, linear_ * linear_);
    b = uvec4(gl_SampleMaskIn[0], gl_FragCoord.xy * 16.0, 1);
    gl_SampleMask[0] = (uint(gl_FragCoord.x) + uint(gl_FragCoord.y)) % 5u == 0u ? 5 : -1;
}
