#version 450
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 some;
layout(location = 1) out vec4 none;
void main() {
    vec4 made;
    made.xz = place.xy;
    some = made;
    vec4 unmade;
    none = unmade;
    gl_Position = place;
}
