#version 450
// Of what the fragment shader reads, location 0 is a constant that the rasterizer has, 1 is never written, and 3 is another
// constant: a whole-pipeline compile exports two vectors.
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 constant;
layout(location = 2) out vec4 real;
layout(location = 3) out vec4 white;
layout(location = 4) out vec2 last;
void main() {
    constant = vec4(0.0, 0.0, 0.0, 1.0);
    real = place * 2.0;
    white = vec4(1.0);
    last = place.zw;
    gl_Position = place;
}
