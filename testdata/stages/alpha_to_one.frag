#version 450
// draw triangles 9
// alpha_to_one
// attachment R8G8B8A8_UNORM
// attachment R32G32B32A32_SFLOAT
// attachment R16G16B16A16_SFLOAT
// attachment R16G16B16A16_UNORM
// attachment R32G32B32A32_SFLOAT
layout(location = 0) in vec3 value;
layout(location = 1) flat in int which;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out vec4 c;
layout(location = 3) out vec4 d;
layout(location = 4) out vec3 e;
void main() {
    a = b = c = d = vec4(0.5 + 0.4 * value, 0.25 * float(which));
    e = a.xyz;
}
