#version 450
// Attributes that are read late, and not by every vertex: after other loads, in a branch, in a loop, in what is passed on unchanged;
// one is never read. Their loads may be outstanding when the body begins.
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 scaled;
layout(location = 2) in vec4 unread;
layout(location = 3) in vec4 chosen;
layout(location = 4) in uvec2 words;
layout(location = 5) in vec4 through;
layout(set = 0, binding = 0) uniform Table {
    vec4 rows[8];
} table;

layout(location = 0) out vec4 sum;
layout(location = 1) out vec4 passed;
layout(location = 2) flat out uint kind;

void main() {
    gl_Position = vec4(position, 1.0);
    passed = through;
    kind = words.y & 7u;
    sum = table.rows[gl_VertexIndex & 7];
    if ((words.x & 1u) != 0u) {
        sum += table.rows[words.y & 7u] * chosen;
    }
    for (uint n = 0u; n < kind; n++) {
        sum = sum * 0.5 + table.rows[n] * scaled.x;
    }
}
