#version 450
// Two float targets and an integer target; derivatives, a kill, and the fragment's built-in inputs.
layout(location = 0) in vec4 smooth_color;
layout(location = 1) noperspective in vec4 linear_color;
layout(location = 2) flat in uvec2 numbers;
layout(location = 3) centroid in vec2 place;
layout(location = 0) out vec4 first;
layout(location = 1) out uvec4 second;
layout(location = 2) out vec4 third;

void main() {
    // Before any pixel of the quad is killed.
    float change = abs(dFdxFine(place.x)) * 8.0;
    if (uint(gl_FragCoord.x) % 7u == 3u && uint(gl_FragCoord.y) % 5u == 2u) {
        discard;
    }
    first = smooth_color;
    second = uvec4(numbers, uint(gl_FrontFacing), uint(gl_FragCoord.x) + 1000u * uint(gl_FragCoord.y));
    third = vec4(linear_color.rg, change, 1.0 / gl_FragCoord.w);
}
