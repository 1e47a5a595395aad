#version 450
// Colour components without a value, through one variable, through two, and through a select.
layout(location = 0) in vec4 some;
layout(location = 1) in vec4 none;
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 copied;
layout(location = 2) out vec4 chosen;
void main() {
    vec4 made;
    made.xyz = some.xyz + none.xyz;
    color = made;
    vec4 once;
    once.x = some.x;
    once.w = 1.0;
    vec4 twice = once;
    copied = twice;
    vec4 either;
    if (some.x > 0.5) {
        either.yz = some.xy;
    } else {
        either.yz = some.zw;
    }
    chosen = either;
}
