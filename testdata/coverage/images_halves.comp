#version 450
#extension GL_AMD_gpu_shader_half_float : require
#extension GL_AMD_gpu_shader_half_float_fetch : require
// Images whose texels and coordinates are halves: sampled, gathered, fetched, compared, read and written.
// grid 1 1 1
// texels 0 R8G8B8A8_UNORM 16 16 combined linear 2
// texels 1 R16G16B16A16_SFLOAT 8 8 storage
// texels 2 R32_SFLOAT 16 16 shadow
// texels 3 R16G16B16A16_SFLOAT 8 8 storage
// at 4 zeros 640
// at 5 halves 128 0 1
// unjudged lavapipe does not know SPV_AMD_gpu_shader_half_float_fetch
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform f16sampler2D plain;
layout(set = 0, binding = 1, rgba16f) readonly uniform f16image2D source;
layout(set = 0, binding = 2) uniform f16sampler2DShadow depth;
layout(set = 0, binding = 3, rgba16f) writeonly uniform f16image2D target;
layout(set = 0, binding = 4) writeonly buffer B { float b[]; };
layout(set = 0, binding = 5) readonly buffer A { f16vec2 a[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    ivec2 at = ivec2(i & 7u, i >> 3);
    f16vec2 middle = (f16vec2(at) + float16_t(0.5)) * float16_t(0.125);
    // Off the edges between texels.
    f16vec2 inside = middle + float16_t(0.046875);
    f16vec4 sampled = textureLod(plain, middle, float16_t(0));
    f16vec4 coarse = textureLod(plain, a[i], float16_t(1));
    f16vec4 gathered = textureGather(plain, inside, 1);
    f16vec4 fetched = texelFetch(plain, at, 0);
    f16vec4 read = imageLoad(source, at);
    uint to = 10u * i;
    b[to] = float(sampled.x);
    b[to + 1u] = float(sampled.w);
    b[to + 2u] = float(coarse.y);
    b[to + 3u] = float(gathered.x);
    b[to + 4u] = float(gathered.z);
    b[to + 5u] = float(fetched.z);
    b[to + 6u] = float(read.x);
    b[to + 7u] = float(read.w);
    b[to + 8u] = float(textureLod(depth, f16vec3(inside, 0), float16_t(0)));
    b[to + 9u] = float(textureLod(depth, inside, a[i].x, float16_t(0)));
    imageStore(target, at, read.wzyx + fetched);
}
