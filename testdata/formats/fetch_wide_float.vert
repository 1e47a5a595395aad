#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// 64-bit attributes of one to four channels to seven attachments: one pixel per vertex, one block of rows per instance.
layout(location = 0) in double one;
layout(location = 1) in dvec2 two;
layout(location = 2) in dvec3 three;
layout(location = 4) in dvec4 four[2];
layout(location = 0) flat out uvec4 bits[7];
uvec4 both(double a, double b) { return uvec4(unpackDouble2x32(a), unpackDouble2x32(b)); }
void main() {
    ivec2 pixel = ivec2(gl_VertexIndex % 16, gl_VertexIndex / 16 + 2 * gl_InstanceIndex);
    gl_Position = vec4((vec2(pixel) + 0.5) / 8.0 - 1.0, 0.5, 1.0);
    gl_PointSize = 1.0;
    bits[0] = both(one, two.x);
    bits[1] = both(two.y, three.x);
    bits[2] = both(three.y, three.z);
    bits[3] = both(four[0].x, four[0].y);
    bits[4] = both(four[0].z, four[0].w);
    bits[5] = both(four[1].x, four[1].y);
    bits[6] = both(four[1].z, four[1].w);
}
