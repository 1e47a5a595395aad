#version 450
// A matrix in four texels of a texture, as in batched meshes.
layout(set = 0, binding = 0) uniform sampler2D matrices;
layout(set = 0, binding = 1) uniform Mesh { int number; } mesh;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec3 out_normal;
layout(location = 1) out vec4 out_color;
void main() {
    int wide = textureSize(matrices, 0).x;
    int at = mesh.number * 4;
    ivec2 first = ivec2(at % wide, at / wide);
    mat4 model;
    for (int n = 0; n < 4; n++) {
        model[n] = texelFetch(matrices, first + ivec2(n, 0), 0);
    }
    gl_Position = model * vec4(position, 1.0);
    out_normal = mat3(model) * normal;
    out_color = vec4(position, 1.0);
}
