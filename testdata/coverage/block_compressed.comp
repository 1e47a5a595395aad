#version 450
#extension GL_EXT_samplerless_texture_functions : require
// grid 1 1 1
// texels 0.0 BC1_RGB_UNORM_BLOCK 13 10 combined linear 3
// texels 0.1 BC1_RGB_SRGB_BLOCK 13 10 combined linear 3
// texels 0.2 BC1_RGBA_UNORM_BLOCK 13 10 combined linear 3
// texels 0.3 BC1_RGBA_SRGB_BLOCK 13 10 combined linear 3
// texels 0.4 BC2_UNORM_BLOCK 13 10 combined linear 3
// texels 0.5 BC2_SRGB_BLOCK 13 10 combined linear 3
// texels 0.6 BC3_UNORM_BLOCK 13 10 combined linear 3
// texels 0.7 BC3_SRGB_BLOCK 13 10 combined linear 3
// texels 0.8 BC4_UNORM_BLOCK 13 10 combined linear 3
// texels 0.9 BC4_SNORM_BLOCK 13 10 combined linear 3
// texels 0.10 BC5_UNORM_BLOCK 13 10 combined linear 3
// texels 0.11 BC5_SNORM_BLOCK 13 10 combined linear 3
// texels 0.12 BC6H_UFLOAT_BLOCK 13 10 combined linear 3
// texels 0.13 BC6H_SFLOAT_BLOCK 13 10 combined linear 3
// texels 0.14 BC7_UNORM_BLOCK 13 10 combined linear 3
// texels 0.15 BC7_SRGB_BLOCK 13 10 combined linear 3
// texels 1 BC3_UNORM_BLOCK 9 7 sampled linear 1 2d_array 3
// texels 2 BC7_UNORM_BLOCK 8 8 combined nearest 1 cube 6
// at 3 zeros 12544
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D each[16];
layout(set = 0, binding = 1) uniform texture2DArray layers;
layout(set = 0, binding = 2) uniform samplerCube cube;
layout(set = 0, binding = 3) buffer B { vec4 b[][49]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    ivec2 at = ivec2(gl_LocalInvocationID.xy);
    // Levels of 13 x 10, 6 x 5 and 3 x 2 texels.
    for (int n = 0; n < 16; n++) {
        // Of the decoders of sRGB colours least is known.
        int k = n < 8 ? n & ~1 : n;
        b[i][3 * n] = texelFetch(each[n], at + ivec2(5, 2), 0);
        b[i][3 * n + 1] = texelFetch(each[k], min(at, ivec2(5, 4)), 1);
        b[i][3 * n + 2] = n < 15 ? texelFetch(each[k], at % ivec2(3, 2), 2) : textureLod(each[n], (vec2(at) + 0.3) / 8.0, 0.0);
    }
    b[i][48] = texelFetch(layers, ivec3(at, at.x % 3), 0)
        + textureLod(cube, vec3(vec2(at) / 4.0 - 0.9, (i & 1) == 0 ? 1.1 : -1.1), 0.0);
}
