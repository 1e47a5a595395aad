#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Textures and samplers in arrays, selected by push constants and by a buffer.
layout(set = 2, binding = 0) uniform texture2D textures[];
layout(set = 1, binding = 0) uniform sampler samplers[2];
layout(set = 1, binding = 1, std430) readonly buffer Materials {
    uvec4 material[];
};
layout(push_constant) uniform Push {
    layout(offset = 80) uint object;
    uint linear;
};
layout(location = 0) in vec3 normal;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 result;

void main() {
    uvec4 m = material[object];
    vec4 one = texture(sampler2D(textures[m.x], samplers[linear]), color.xy);
    result = one + texture(sampler2D(textures[m.y], samplers[1]), normal.xy) * 0.5;
}
