#version 450
// One sample per pixel, at its centre: values at the centroid and at that sample.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec4 many[3];
layout(location = 3) noperspective in vec4 over[3];
layout(location = 7) noperspective in vec3 line;
layout(location = 8) in vec2 pair[2];
layout(location = 10) flat in vec2 fixed_;
layout(location = 20) flat in vec2 whole[2];
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    uint i = p.x % 3u, c = p.y % 4u, n = (p.x ^ p.y) & 1u;
    float flats = interpolateAtCentroid(whole[n]).x + interpolateAtSample(fixed_, 0).y;
    a = vec4(
        interpolateAtCentroid(many[i])[c] + interpolateAtSample(over[i], 0).z,
        interpolateAtSample(pair[n], 0).y, interpolateAtCentroid(line)[c % 3u], flats);
    b = vec4(
        interpolateAtCentroid(many[n]).xy, interpolateAtSample(many[1], 0)[2u + n],
        p.x > 11u ? interpolateAtCentroid(over[(p.y + 1u) % 3u]).y : interpolateAtSample(many[n], 0)[c]);
}
