#version 450
#extension GL_EXT_fragment_invocation_density : require
// alike: lavapipe evaluates undecorated inputs at the pixel's centre. If the state enables per-sample shading, Vulkan evaluates all inputs at the sample, which FragCoord gives.
// samples 4 shaded
// draw triangles 3
// step 0.001
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
in float gl_ClipDistance[1];
layout(location = 0) in vec3 smooth_;
layout(location = 1) noperspective in vec2 linear_;
layout(location = 2) centroid in vec3 inside;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    vec2 at = gl_FragCoord.xy / 16.0 - 1.0;
    // Products, because the average of a linear value equals the value at the centre.
    a = vec4(smooth_.xy / smooth_.z * linear_, inside.x * (gl_ClipDistance[0] / smooth_.z - 7.0) / inside.z, bitCount(gl_SampleMaskIn[0]) * gl_FragInvocationCountEXT);
    b = vec4(at * at, at.x * at.x, 4.0);
}
