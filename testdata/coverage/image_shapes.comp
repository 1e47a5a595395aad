#version 450
// grid 2 2 1
// texels 0 R32G32B32A32_SFLOAT 16 1 combined nearest 1 1d
// texels 1 R32G32B32A32_SFLOAT 16 1 combined nearest 1 1d_array 3
// texels 2 R32G32B32A32_SFLOAT 16 16 combined linear 1 2d_array 4
// texels 3 R32G32B32A32_SFLOAT 8 8 combined linear 1 3d 8
// texels 4 R32G32B32A32_SFLOAT 16 16 combined nearest 1 cube 6
// texels 5 R32G32B32A32_SFLOAT 8 8 combined nearest 1 cube_array 12
// texels 6 R32G32B32A32_SFLOAT 16 16 combined linear 3
// texels 7 D32_SFLOAT 16 16 shadow nearest
// texels 8 R32_UINT 8 8 storage nearest 1 3d 4
// texels 9 R32G32B32A32_SFLOAT 8 8 storage nearest 1 2d_array 4
// texels 10 R32_UINT 8 8 storage nearest 1 cube 6
// texels 11 R32_UINT 8 8 combined
// at 12 zeros 16384
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler1D s0;
layout(set = 0, binding = 1) uniform sampler1DArray s1;
layout(set = 0, binding = 2) uniform sampler2DArray s2;
layout(set = 0, binding = 3) uniform sampler3D s3;
layout(set = 0, binding = 4) uniform samplerCube s4;
layout(set = 0, binding = 5) uniform samplerCubeArray s5;
layout(set = 0, binding = 6) uniform sampler2D s6;
layout(set = 0, binding = 7) uniform sampler2DShadow s7;
layout(set = 0, binding = 8, r32ui) uniform uimage3D i8;
layout(set = 0, binding = 9, rgba32f) uniform image2DArray i9;
layout(set = 0, binding = 10, r32ui) uniform uimageCube i10;
layout(set = 0, binding = 11) uniform usampler2D s11;
layout(set = 0, binding = 12) buffer B { vec4 b[][16]; };
void main() {
    uvec2 g = gl_GlobalInvocationID.xy;
    uint i = g.y * 16u + g.x;
    vec2 p = vec2(g) / 16.0 + 0.011;
    int n = 0;
    b[i][n++] = textureLod(s0, p.x * 1.7 - 0.3, 0.0);
    b[i][n++] = textureLod(s1, vec2(p.x, p.y * 3.0), 0.0);
    b[i][n++] = textureLod(s2, vec3(p, p.x * 4.0 - 0.2), 0.0);
    b[i][n++] = textureLod(s3, vec3(p * 1.4 - 0.2, p.x + p.y), 0.0);
    b[i][n++] = textureLod(s4, vec3(p - 0.5, p.x * p.y - 0.4), 0.0);
    b[i][n++] = textureLod(s5, vec4(p.yx - 0.4, 0.3 - p.x, float(g.x & 1u)), 0.0);
    b[i][n++] = textureLod(s6, p, p.x * 2.0);
    b[i][n++] = vec4(textureLod(s7, vec3(p, p.y), 0.0), textureSize(s6, int(gl_WorkGroupID.x + gl_WorkGroupID.y)), textureQueryLevels(s6));
    b[i][n++] = vec4(textureSize(s0, 0), textureSize(s1, 0), textureSize(s3, 0).z);
    b[i][n++] = vec4(textureSize(s2, 0), textureSize(s5, 0).z);
    b[i][n++] = vec4(imageSize(i8), imageSize(i9).z) + vec4(imageSize(i10), textureSize(s4, 0));
    b[i][n++] = texelFetch(s2, ivec3(g, g.x & 3u), 0) + texelFetch(s1, ivec2(g.x, g.y % 3u), 0);
    b[i][n++] = texelFetch(s3, ivec3(g >> 1, g.x >> 1), 0) + texelFetch(s6, ivec2(g >> 1), 1);
    b[i][n++] = vec4(texelFetch(s11, ivec2(g >> 1), 0));
    b[i][n++] = textureLodOffset(s2, vec3(p, 1.0), 0.0, ivec2(2, -1)) + textureGrad(s6, p, vec2(0.02, 0.0), vec2(0.0));
    if (all(lessThan(g, uvec2(8u)))) {
        ivec2 q = ivec2(g);
        imageStore(i9, ivec3(q, q.x & 3), imageLoad(i9, ivec3(q, (q.x + 1) & 3)).wzyx);
        imageAtomicAdd(i8, ivec3(q, q.y & 3), g.x * 17u);
        imageStore(i10, ivec3(q, (q.x + q.y) % 6), uvec4(i * 3u));
        imageAtomicMax(i8, ivec3(q.yx, 3), g.y << 20);
    }
}
