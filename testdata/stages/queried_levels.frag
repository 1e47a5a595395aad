#version 450
// draw triangles 3
// step 0.02
// attachment R32G32B32A32_SFLOAT
// texels 0 R32G32B32A32_SFLOAT 64 64 combined nearest 4
layout(location = 0) in vec3 place;
layout(set = 0, binding = 0) uniform sampler2D s;
layout(location = 0) out vec4 a;
void main() { a = vec4(textureQueryLod(s, place.xy * exp2(floor(mod(gl_FragCoord.x, 16.0) / 4.0))), textureQueryLod(s, place.yx * 0.25)); }
