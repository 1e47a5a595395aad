#version 450
layout(location = 0) out vec4 smooth_;
layout(location = 1) noperspective out vec3 linear_;
layout(location = 2) centroid out vec2 inside;
layout(location = 3) sample out vec2 each;
layout(location = 4) noperspective centroid out vec2 linear_inside;
layout(location = 5) noperspective sample out vec2 linear_each;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    smooth_ = vec4(at, w, 1.0);
    linear_ = vec3(at.yx, w);
    inside = at * 2.0;
    each = at * 3.0;
    linear_inside = at * 4.0;
    linear_each = at * 5.0;
}
