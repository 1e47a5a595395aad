#version 450
#extension GL_EXT_fragment_shading_rate : require
// alike: lavapipe of Mesa 22 has no shading rates. The rate that a vertex shader asks for is what the fragment shader reads; the emulator shades every pixel all the same.
// extent 48 48
// draw triangles 27
// attachment R32G32B32A32_SINT
// attachment R32G32B32A32_SINT
layout(location = 0) flat in int expected;
layout(location = 0) out ivec4 a;
layout(location = 1) out ivec4 b;
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    a = ivec4(gl_ShadingRateEXT, at, 1);
    b = ivec4(expected, at, 1);
}
