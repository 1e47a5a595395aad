#version 450
layout(location = 0) out vec2 smooth_;
layout(location = 1) noperspective out vec2 linear_;
layout(location = 2) centroid out vec2 inside;
layout(location = 3) flat out vec2 first;
out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[1]; };
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    gl_ClipDistance[0] = at.x + 7.0;
    smooth_ = at * 3.0;
    linear_ = at.yx * 4.0;
    inside = at * 5.0;
    first = at;
}
