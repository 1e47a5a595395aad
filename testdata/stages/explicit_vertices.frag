#version 450
#extension GL_AMD_shader_explicit_vertex_parameter : require
// alike: lavapipe does not know the extension. I and J are the weights with which attributes are interpolated.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec2 smooth_;
layout(location = 1) noperspective in vec2 linear_;
layout(location = 2) __explicitInterpAMD in vec4 each;
layout(location = 3) __explicitInterpAMD in float last;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
vec4 at(vec2 weights) {
    vec4 zero = interpolateAtVertexAMD(each, 0), one = interpolateAtVertexAMD(each, 1);
    vec4 two = vec4(interpolateAtVertexAMD(each, 2).xyz, interpolateAtVertexAMD(last, 2));
    return zero * (1.0 - weights.x - weights.y) + one * weights.x + two * weights.y;
}
void main() {
    vec2 pulled = gl_BaryCoordPullModelAMD.xy / gl_BaryCoordPullModelAMD.z;
    vec4 p = at(gl_BaryCoordSmoothAMD) + at(gl_BaryCoordSmoothCentroidAMD) + at(gl_BaryCoordSmoothSampleAMD) + at(pulled);
    vec4 n = at(gl_BaryCoordNoPerspAMD) + at(gl_BaryCoordNoPerspCentroidAMD) + at(gl_BaryCoordNoPerspSampleAMD);
    a = vec4(p.xy / 4.0, n.zw / 3.0);
    b = vec4(smooth_, linear_);
}
