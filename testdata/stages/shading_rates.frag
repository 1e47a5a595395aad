#version 450
#extension GL_EXT_fragment_shading_rate : require
// alike: lavapipe of Mesa 22 has no shading rates. The fragment shader reads the rate that the vertex shader requests; the emulator still shades every pixel.
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
