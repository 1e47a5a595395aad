#version 450
// Some lanes load a value, and later some of those load it again.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform sampler2D first;
layout(set = 0, binding = 1) uniform sampler2D second;
layout(set = 0, binding = 2) buffer Data { vec4 data[]; };
void main() {
    uint lane = gl_GlobalInvocationID.x;
    vec4 value = data[lane];
    bool again = false;
    vec4 sum = vec4(0.0);
    if (value.x > 0.25) {
        vec4 seen = textureLod(first, value.xy, 0.0);
        sum += seen;
        if (seen.y > value.z) {
            again = true;
        } else {
            sum += textureLod(second, value.yz, 0.0);
        }
    }
    if (again) {
        sum += textureLod(first, value.zw, 0.0) * textureLod(second, sum.xy, 0.0);
    }
    data[lane] = sum;
}
