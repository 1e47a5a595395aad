#version 450
layout(local_size_x = 32) in;
layout(constant_id = 1) const uint CASE = 0;
layout(set = 0, binding = 0) uniform Added { uint added; };
layout(set = 0, binding = 1) readonly buffer From { uint from[]; };
layout(set = 0, binding = 2) buffer To { uint to[]; };
layout(push_constant) uniform Push { uint factor; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    to[i] += from[i] * factor + added + CASE;
}
