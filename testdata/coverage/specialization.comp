#version 450
// grid 2 1 1
// at 0 bits 64
// at 1 zeros 512
// spec 0 9 4
// spec 1 1 4
// spec 2 1075838976 4
// spec 3 16 4
layout(local_size_x_id = 3) in;
layout(constant_id = 0) const uint count = 4u;
layout(constant_id = 1) const bool flip = false;
layout(constant_id = 2) const float scale = 1.0;
layout(constant_id = 5) const int unset = -3;
const uint derived = count * 2u + (flip ? 1u : 0u);
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint list[count];
    for (uint k = 0u; k < count; ++k) list[k] = a[i] * (k + derived);
    b[i][0] = list[a[i] % count];
    b[i][1] = flip ? a[i] : ~a[i];
    b[i][2] = floatBitsToUint(float(a[i] & 0xffffu) * scale);
    b[i][3] = derived + gl_WorkGroupSize.x * 1000u;
    b[i][4] = uint(unset) + a[i];
    uvec2 v = uvec2(count, derived);
    b[i][5] = v.x << 8 | v.y;
}
