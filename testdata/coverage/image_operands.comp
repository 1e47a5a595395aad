#version 450
#extension GL_EXT_shader_image_load_formatted : require
// target vulkan1.2
// grid 1 1 1
// texels 0 R32G32B32A32_SFLOAT 16 16 combined linear 3
// texels 1 D32_SFLOAT 16 16 shadow nearest
// texels 2 R32G32B32A32_SFLOAT 16 16 sampled
// texels 3 R32G32B32A32_SFLOAT 8 8 storage
// texels 4 R32G32B32A32_UINT 8 8 storage
// texels 5 R32_SINT 16 1 storage nearest 1 1d
// texels 6 R32_UINT 8 1 storage nearest 1 1d_array 3
// texels 7 R32_UINT 8 8 storage nearest 1 cube_array 12
// texels 8 R32G32_SFLOAT 8 8 storage
// texels 10 R32G32B32A32_SFLOAT 16 16 combined nearest
// at 9 zeros 4096
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(set = 0, binding = 1) uniform sampler2DShadow z;
layout(set = 0, binding = 2) uniform texture2D t;
layout(set = 0, binding = 3) uniform image2D any;
layout(set = 0, binding = 4) volatile uniform uimage2D numbers;
layout(set = 0, binding = 5, r32i) uniform iimage1D line;
layout(set = 0, binding = 6, r32ui) uniform uimage1DArray lines;
layout(set = 0, binding = 7, r32ui) uniform uimageCubeArray cubes;
layout(set = 0, binding = 8, rg32f) uniform image2D pairs;
layout(set = 0, binding = 10) uniform sampler2D n;
layout(set = 0, binding = 9) buffer B { vec4 b[][16]; };
void main() {
    ivec2 q = ivec2(gl_LocalInvocationID.xy);
    uint i = gl_LocalInvocationIndex;
    vec2 p = vec2(q) / 8.0 + 0.031;
    int k = 0;
    b[i][k++] = textureGather(n, p, 1);
    b[i][k++] = textureGatherOffset(n, p, q - 4, 2);
    b[i][k++] = textureGather(z, p, p.y);
    b[i][k++] = textureGatherOffset(z, p, 0.5, ivec2(1, 2));
    b[i][k++] = vec4(textureProjLod(z, vec4(p * 2.0, p.x, 2.0), 0.0), textureLod(z, vec3(p.yx, 0.4), 0.0), 0.0, 1.0);
    b[i][k++] = textureProjLod(s, vec3(p * 3.0, 3.0), 1.0);
    b[i][k++] = textureProjGrad(s, vec4(p * 2.0, 9.0, 2.0), vec2(0.01, 0.0), vec2(0.0, 0.01));
    b[i][k++] = texelFetchOffset(s, q, 0, ivec2(2, 1));
    b[i][k++] = imageLoad(any, q);
    imageStore(any, q, b[i][0] * 2.0);
    b[i][k++] = vec4(imageLoad(numbers, q) >> 16u);
    imageStore(numbers, q, uvec4(i, q, 7u));
    b[i][k++] = vec4(i < 16u ? imageLoad(line, int(i)).x >> 8 : 0, imageSize(line), imageSize(lines));
    if (i < 16u) imageStore(line, int(i), ivec4(int(i) - 9));
    b[i][k++] = vec4(q.y < 3 ? imageLoad(lines, q).x >> 12u : 1u, imageSize(cubes));
    if (q.y < 3) imageAtomicOr(lines, q, 0x10101u << q.y);
    b[i][k++] = vec4(imageLoad(cubes, ivec3(q, q.x + 3)).x >> 9u, imageLoad(pairs, q).yx, 1.0);
    imageStore(cubes, ivec3(q, q.x + 3), uvec4(i * 5u));
    imageStore(pairs, q, vec4(p, 9.0, 9.0));
}
