#version 450
layout(location = 0) out vec2 smooth_;
layout(location = 1) noperspective out vec2 linear_;
layout(location = 2) centroid out vec2 inside;
layout(location = 3) out vec2 smooth_each;
layout(location = 4) noperspective out vec2 linear_each;
layout(location = 5) out vec2 inside_each;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    smooth_ = smooth_each = at * 3.0;
    linear_ = linear_each = at.yx * 4.0;
    inside = inside_each = at * 5.0;
}
