#version 450
layout(location = 0) out vec3 smooth_;
layout(location = 1) noperspective out vec2 linear_;
layout(location = 2) centroid out vec3 inside;
out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[1]; };
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    // Divided by w, all of them give the screen position.
    smooth_ = inside = vec3(at, 1.0) * w;
    linear_ = at;
    gl_ClipDistance[0] = (at.x + 7.0) * w;
}
