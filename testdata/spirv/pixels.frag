#version 460
#extension GL_EXT_demote_to_helper_invocation : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Fragment-only features: derivatives, interpolation functions, input attachments, helpers.
layout(location = 0) in vec4 c;
layout(location = 1) noperspective in vec2 p;
layout(location = 2) in vec2 a[3];
layout(location = 0) out vec4 o;
layout(input_attachment_index = 0, set = 0, binding = 0) uniform subpassInput sub;
layout(input_attachment_index = 1, set = 0, binding = 1) uniform usubpassInputMS subms;

void main() {
    vec4 r = dFdx(c) + dFdy(c) + fwidth(c) + dFdxFine(c) + dFdyFine(c) + fwidthFine(c) + dFdxCoarse(c) + dFdyCoarse(c) + fwidthCoarse(c);
    r += interpolateAtCentroid(c) + interpolateAtSample(c, 2) + interpolateAtOffset(c, vec2(0.25, -0.25));
    r.xy += interpolateAtCentroid(p) + interpolateAtSample(p, 1) + interpolateAtOffset(a[1], p);
    r.x += interpolateAtCentroid(c.z) + interpolateAtOffset(c.y, p);
    r += subpassLoad(sub) + vec4(subpassLoad(subms, 3));
    if (r.x < 0.0) demote;
    if (helperInvocationEXT()) r.x += 1.0;
    o = r;
}
