#version 450
#extension GL_ARB_shader_viewport_layer_array : require
// extent 48 48
// draw triangles 48
// attachment R32G32B32A32_SINT
layout(location = 0) flat in int sent;
layout(location = 0) out ivec4 a;
void main() { a = ivec4(gl_Layer, gl_ViewportIndex, gl_PrimitiveID, sent); }
