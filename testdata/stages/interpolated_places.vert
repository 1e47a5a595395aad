#version 450
layout(location = 0) out vec4 many[3];
layout(location = 3) noperspective out vec4 over[3];
layout(location = 6) noperspective out float inverse;
layout(location = 7) noperspective out vec3 line;
layout(location = 8) out vec2 pair[2];
layout(location = 10) flat out vec2 fixed_;
layout(location = 20) flat out vec2 whole[2];
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 2.8 : -0.93, gl_VertexIndex == 2 ? 2.7 : -0.96);
    float w = gl_VertexIndex == 1 ? 2.0 : 1.25;
    gl_Position = vec4(at * w, 0.25 * w, w);
    for (int i = 0; i < 3; ++i) many[i] = vec4(at, w, float(gl_VertexIndex)) * (float(i) + 0.5);
    for (int i = 0; i < 3; ++i) over[i] = many[i] / w;
    inverse = 1.0 / w;
    line = vec3(at.yx, w);
    pair[0] = many[0].xy;
    pair[1] = many[1].xy;
    fixed_ = vec2(3.5, 4.5);
    for (int i = 0; i < 2; ++i) {
        whole[i] = vec2(i * 5 + 1, -7);
    }
}
