#version 450
#extension GL_ARB_post_depth_coverage : require
// The mask holds the samples that pass the early tests. The average over four samples shows where each is counted.
// samples 4
// draw triangles 6
// depth less 0.9
// edges 30
// attachment R32G32B32A32_SFLOAT
layout(post_depth_coverage) in;
layout(early_fragment_tests) in;
layout(location = 0) flat in int which;
layout(location = 0) out vec4 a;
void main() { a = vec4(bitCount(gl_SampleMaskIn[0]), gl_SampleMaskIn[0], which, 1.0); }
