#version 450
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_UINT
// attachment R32G32B32A32_SFLOAT
// uniform 0 bits 4
layout(location = 0) in vec4 smooth_;
layout(location = 1) flat in uvec4 flat_;
layout(location = 2) noperspective in vec2 linear_;
layout(location = 3) flat in vec2 flat_float;
layout(set = 0, binding = 0) uniform U { uvec4 u; };
layout(location = 0) out vec4 a;
layout(location = 1) out uvec4 b;
layout(location = 2) out vec4 c;
void main() {
    a = smooth_ * 2.0;
    b = flat_ + u + uvec4(gl_FragCoord.xy, gl_FrontFacing, gl_HelperInvocation);
    c = vec4(linear_, flat_float + gl_FragCoord.xy);
}
