#version 450
layout(location = 0) out vec4 many[4];
layout(location = 4) flat out uvec2 chosen;
layout(location = 5) out mat3x2 matrix;
layout(push_constant) uniform P { uvec4 same; };
void main() {
    vec2 at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
    gl_Position = vec4(at, 0.5, 1.0);
    for (uint i = 0u; i < 4u; ++i) many[i] = vec4(0.0);
    // Written with dynamic indices.
    many[same.x & 3u] = vec4(at, 1.0, 2.0);
    many[same.y & 3u].zw = at.yx * 3.0;
    chosen = uvec2(same.z, gl_InstanceIndex);
    matrix = mat3x2(at, at * 2.0, at * 3.0);
    matrix[same.x % 3u].y = 0.5;
}
