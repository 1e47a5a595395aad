#version 450
// Writes memory but no colour.
layout(location = 0) flat in uint number;
layout(set = 0, binding = 0) buffer Counts { uint counts[]; };
void main() {
    if (gl_FragCoord.x > 8.0) {
        atomicAdd(counts[number & 15u], 1u);
    } else {
        counts[16u + (number & 15u)] = number;
    }
}
