#version 450
// draw triangles 3
// edges 100
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
layout(location = 0) in vec4 smooth_;
layout(location = 1) noperspective in vec3 linear_;
layout(location = 2) centroid in vec2 inside;
layout(location = 3) sample in vec2 each;
layout(location = 4) noperspective centroid in vec2 linear_inside;
layout(location = 5) noperspective sample in vec2 linear_each;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out uvec4 c;
void main() {
    a = vec4(smooth_.xy + inside, each);
    b = vec4(linear_.xy + linear_inside, linear_each + gl_SamplePosition);
    c = uvec4(gl_SampleMaskIn[0], gl_SampleID, gl_FragCoord.xy);
    gl_SampleMask[0] = (uint(gl_FragCoord.x) + uint(gl_FragCoord.y)) % 5u == 0u ? 0 : -1;
}
