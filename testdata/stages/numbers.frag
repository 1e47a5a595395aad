#version 450
#extension GL_EXT_device_group : require
#extension GL_EXT_multiview : require
// draw points 32 2 5 3
// attachment R32G32B32A32_SINT
// attachment R32G32B32A32_SINT
layout(location = 0) flat in ivec4 numbers;
layout(location = 1) flat in ivec4 more;
layout(location = 0) out ivec4 a;
layout(location = 1) out ivec4 b;
void main() {
    a = numbers;
    b = more + ivec4(0, gl_DeviceIndex, gl_ViewIndex, gl_PrimitiveID);
}
