#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Inputs, outputs and descriptors with dynamic indices.
// draw triangles 3
// push dwords 2 1 3 0
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// texels 0.0 R32G32B32A32_SFLOAT 16 16 combined nearest
// texels 0.1 R32G32B32A32_SFLOAT 16 16 combined nearest
// texels 0.2 R32G32B32A32_SFLOAT 16 16 combined nearest
// uniform 1.0 floats 64 -1 1
// uniform 1.1 floats 64 -1 1
layout(location = 0) in vec4 many[4];
layout(location = 4) flat in uvec2 chosen;
layout(location = 5) in mat3x2 matrix;
layout(push_constant) uniform P { uvec4 same; };
layout(set = 0, binding = 0) uniform sampler2D s[3];
layout(set = 0, binding = 1) uniform U { vec4 u[16]; } us[2];
layout(location = 0) out vec4 results[3];
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    for (uint i = 0u; i < 3u; ++i) results[i] = vec4(float(i));
    results[same.x % 3u] = many[(p.x + same.w) & 3u];
    results[(same.x + 1u) % 3u] = us[same.y].u[p.y & 15u] + texelFetch(s[same.y], ivec2(p & 15u), 0);
    results[(same.x + 2u) % 3u][p.x & 3u] = matrix[p.y % 3u][chosen.x & 1u];
    results[0].w += many[chosen.x & 3u].z;
}
