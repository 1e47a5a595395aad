#version 450
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// uniform 0 floats 4 1 4
layout(location = 2) noperspective in vec2 linear_;
layout(set = 0, binding = 0) uniform U { vec4 u; };
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
void main() {
    vec2 p = gl_FragCoord.xy;
    float f = p.x * p.x * 0.5 + p.y * p.x * 0.25 + u.x * p.y * p.y;
    a = vec4(dFdxFine(f), dFdyFine(f), fwidthFine(f), dFdx(p.x * u.y + p.y));
    float plane = p.x * 3.0 + p.y * u.z;
    b = vec4(dFdxCoarse(plane), dFdyCoarse(plane), fwidth(plane), fwidthCoarse(plane) + dFdy(plane));
}
