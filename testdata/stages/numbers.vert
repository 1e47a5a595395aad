#version 450
#extension GL_ARB_shader_draw_parameters : require
#extension GL_EXT_device_group : require
#extension GL_EXT_multiview : require
// The indices of a draw. One point of 3 by 3 pixels per vertex.
layout(location = 0) flat out ivec4 numbers;
layout(location = 1) flat out ivec4 more;
void main() {
    int n = gl_VertexIndex - gl_BaseVertexARB + 32 * (gl_InstanceIndex - gl_BaseInstanceARB);
    gl_Position = vec4((vec2(n % 8, n / 8) * 4.0 + 2.5) / 16.0 - 1.0, 0.5, 1.0);
    gl_PointSize = 3.0;
    numbers = ivec4(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB, gl_BaseInstanceARB);
    more = ivec4(gl_DrawIDARB + n, gl_DeviceIndex, gl_ViewIndex, 7);
}
