#version 450
#extension GL_NV_conservative_raster_underestimation : require
// alike: lavapipe has no conservative rasterization. A pixel is fully covered if its four corners are inside the three edges.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) noperspective in vec2 at;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    // The vertex shader's corners on the screen, rounded as the rasterizer rounds them.
    vec2 p0 = round((vec2(-0.91, -0.9) + 1.0) * 16.0 * 256.0) / 256.0;
    vec2 p1 = round((vec2(0.93, -0.9) + 1.0) * 16.0 * 256.0) / 256.0;
    vec2 p2 = round((vec2(-0.91, 0.88) + 1.0) * 16.0 * 256.0) / 256.0;
    vec2 low = floor(gl_FragCoord.xy), high = low + 1.0, slope = p2 - p1;
    bool inside = low.x >= p0.x && low.y >= p0.y && slope.x * (high.y - p1.y) - slope.y * (high.x - p1.x) >= 0.0;
    a = vec4(gl_FragFullyCoveredNV ? 1.0 : 0.25, low, 1.0);
    b = vec4(inside ? 1.0 : 0.25, low, 1.0);
}
