#version 450
layout(location = 0) out vec2 smooth_;
layout(location = 1) noperspective out vec2 linear_;
layout(location = 2) out vec4 each;
layout(location = 3) out float last;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    smooth_ = at * 3.0;
    linear_ = at.yx * 2.0;
    each = vec4(smooth_, linear_);
    last = linear_.y;
}
