#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_AMD_gpu_shader_half_float : require
// alike: lavapipe ignores offsets. A screen-linear value is known from its slopes, a perspective one
// from its quotient by w.
// draw triangles 3
// attachment R32G32B32A32_SFLOAT
// attachment R32G32B32A32_SFLOAT
// step 0.004
layout(location = 0) in vec4 many[3];
layout(location = 3) noperspective in vec4 over[3];
layout(location = 6) noperspective in float inverse;
layout(location = 7) noperspective in vec3 line;
layout(location = 8) in vec2 pair[2];
layout(location = 10) flat in vec2 fixed_;
layout(location = 18) noperspective in f16vec2 small[2];
layout(location = 20) flat in vec2 whole[2];
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
float moved(float x, vec2 by) { return x + dFdx(x) * by.x + dFdy(x) * by.y; }
void main() {
    vec2 own = fract(gl_FragCoord.xy * 0.37) - 0.5;
    uvec2 p = uvec2(gl_FragCoord.xy);
    uint i = p.x % 3u, c = p.y % 4u, n = (p.x ^ p.y) & 1u;
    float w = 1.0 / moved(inverse, own);
    vec4 places[3];
    for (int k = 0; k < 3; ++k) {
        vec4 v = over[k];
        places[k] = vec4(moved(v.x, own), moved(v.y, own), moved(v.z, own), moved(v.w, own)) * w;
    }
    float flats = interpolateAtOffset(whole[n], own).x + interpolateAtOffset(fixed_, own).y;
    a = vec4(
        interpolateAtOffset(many[i], own)[c] + interpolateAtOffset(many[i], own).z,
        interpolateAtOffset(pair[n], own).y + interpolateAtOffset(line, own)[c % 3u],
        interpolateAtOffset(many[n], own).x + interpolateAtOffset(many[1], own)[2u + n],
        float(interpolateAtOffset(small[n], f16vec2(own)).x) + flats);
    b = vec4(
        places[i][c] + places[i].z,
        places[n].y + vec3(moved(line.x, own), moved(line.y, own), moved(line.z, own))[c % 3u],
        places[n].x + places[1][2u + n],
        moved(line.y, own) * float(n + 1u) + float(n * 5u + 1u) + 4.5);
}
