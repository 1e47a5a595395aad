#version 450
// Every interpolation mode, point sizes, and the draw's indices.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 smooth_color;
layout(location = 1) noperspective out vec4 linear_color;
layout(location = 2) flat out uvec2 numbers;
layout(location = 3) centroid out vec2 place;

void main() {
    gl_Position = position;
    gl_PointSize = 5.0;
    smooth_color = color;
    linear_color = color;
    numbers = uvec2(gl_VertexIndex, gl_InstanceIndex);
    place = position.xy;
}
