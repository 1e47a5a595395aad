#version 450
#extension GL_AMD_gcn_shader : require
// The face of a cube that a direction hits and the coordinates on it: any directions, those along edges and axes, and
// such as are no numbers.
// grid 8 1 1
// at 0 floats 333 -3 3 , dwords 0 0 0 1065353216 0 0 3212836864 0 0 0 1065353216 0 0 3212836864 0 0 0 1065353216 0 0 3212836864 1065353216 1065353216 1065353216 3212836864 3212836864 3212836864 1065353216 3212836864 0 2147483648 1065353216 3212836864 1073741824 3221225472 1073741824 2139095040 1065353216 0 2143289344 1065353216 0 1 0 0 2139095039 2139095038 0 8388608 8388609 2147483648
// at 1 zeros 384
// unjudged lavapipe does not know SPV_AMD_gcn_shader
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 direction = vec3(a[3u * i], a[3u * i + 1u], a[3u * i + 2u]);
    vec2 place = cubeFaceCoordAMD(direction);
    b[3u * i] = uint(cubeFaceIndexAMD(direction));
    b[3u * i + 1u] = floatBitsToUint(place.x);
    b[3u * i + 2u] = floatBitsToUint(place.y);
}
