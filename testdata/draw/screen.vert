#version 450
// One triangle over the whole screen, nearer on one side, with every kind of interpolated output.
layout(location = 0) out vec4 smooth_;
layout(location = 1) flat out uvec4 flat_;
layout(location = 2) noperspective out vec2 linear_;
layout(location = 3) flat out vec2 flat_float;
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.0;
    gl_Position = vec4(at * w, 0.25 * w, w);
    smooth_ = vec4(at, float(gl_VertexIndex) * 3.0 - 2.0, 1.0 / w);
    flat_ = uvec4(gl_VertexIndex + 7, gl_InstanceIndex, 0xdeadbeefu, 3);
    linear_ = at * 5.0 + 1.0;
    flat_float = vec2(at.y, w * 0.3);
}
