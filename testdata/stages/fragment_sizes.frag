#version 450
#extension GL_EXT_fragment_invocation_density : require
// alike: lavapipe has no fragment density. Without a density map, fragments have one pixel; without sample shading, one invocation.
// draw triangles 3
// attachment R32G32B32A32_SINT
// attachment R32G32B32A32_SINT
layout(location = 0) out ivec4 a;
layout(location = 1) out ivec4 b;
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    a = ivec4(gl_FragSizeEXT, gl_FragInvocationCountEXT, at.x * 64 + at.y);
    b = ivec4(1, 1, 1, at.x * 64 + at.y);
}
