#version 450
// grid 1 1 1
// texels 0 X8_D24_UNORM_PACK32 16 16 combined linear
// texels 1 X8_D24_UNORM_PACK32 16 16 shadow linear
// texels 2 D16_UNORM 16 16 shadow nearest
// texels 3 S8_UINT 16 16 combined nearest
// texels 4 D32_SFLOAT 16 16 shadow nearest
// at 5 zeros 512
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D depth;
layout(set = 0, binding = 1) uniform sampler2DShadow compared;
layout(set = 0, binding = 2) uniform sampler2DShadow sixteen;
layout(set = 0, binding = 3) uniform usampler2D stencil;
layout(set = 0, binding = 4) uniform sampler2DShadow floats;
layout(set = 0, binding = 5) buffer B { vec4 b[][2]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    ivec2 at = ivec2(gl_LocalInvocationID.xy);
    vec2 p = (vec2(at) + 0.3) / 8.0;
    // References beyond the range of depths, too: normalised ones clamp them.
    float reference = float(i) / 32.0 - 0.49;
    b[i][0] = vec4(textureLod(depth, p, 0.0).r, texelFetch(depth, at, 0).r, textureLod(compared, vec3(p, reference), 0.0),
                   textureLod(sixteen, vec3(p, reference), 0.0));
    uvec4 four = textureGather(stencil, p);
    b[i][1] = vec4(texelFetch(stencil, at, 0).r, four.x + 256 * four.w, textureGather(compared, p, reference).y,
                   textureLod(floats, vec3(p, reference), 0.0));
}
