#version 450
// Every sample is shaded on its own, because the shader reads SampleId. Squares, as there.
// samples 4
// draw triangles 3
// edges 100
// step 0.001
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
layout(location = 0) sample in vec2 smooth_;
layout(location = 1) noperspective sample in vec2 linear_;
layout(location = 3) flat in vec2 first;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out uvec4 c;
void main() {
    vec2 within = fract(gl_FragCoord.xy);
    a = vec4(smooth_ * smooth_, linear_ * linear_);
    b = vec4(gl_SamplePosition * gl_SamplePosition.yx, within.x * within.y, first.x + gl_SampleID * gl_SampleID);
    c = uvec4(gl_SampleMaskIn[0], gl_FragCoord.xy * 16.0, 1);
}
