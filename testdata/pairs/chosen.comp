#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Texel buffers and buffers in arrays, selected by push constants.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform samplerBuffer texels[];
layout(set = 0, binding = 1, r11f_g11f_b10f) uniform imageBuffer packed[3];
layout(set = 1, binding = 0) buffer Out {
    vec4 to[];
} outs[2];
layout(push_constant) uniform Push {
    uint from;
    uint small;
    uint out_at;
    float scale;
} push;

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 x = texelFetch(texels[push.from], int(i)) * push.scale;
    outs[push.out_at].to[i] = x + imageLoad(packed[push.small], int(i));
}
