#version 450
// alike: lavapipe ignores offsets. A screen-linear value is known from its slopes.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec4 smooth_;
layout(location = 1) noperspective in vec3 linear_;
layout(location = 2) centroid in vec2 inside;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
vec3 moved(vec2 by) { return linear_ + dFdx(linear_) * by.x + dFdy(linear_) * by.y; }
void main() {
    vec2 own = fract(gl_FragCoord.xy * 0.37) - 0.5;
    a = vec4(interpolateAtOffset(linear_, own).xy, interpolateAtOffset(linear_, vec2(0.25, -0.375)).y, interpolateAtSample(inside, 0).x + interpolateAtCentroid(smooth_.z));
    b = vec4(moved(own).xy, moved(vec2(0.25, -0.375)).y, inside.x + smooth_.z);
}
