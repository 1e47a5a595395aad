#version 450
layout(local_size_x_id = 7) in;
layout(constant_id = 1) const uint FACTOR = 2;
layout(set = 0, binding = 0) buffer Numbers { uint numbers[]; };
void main()
{
    numbers[gl_GlobalInvocationID.x] *= FACTOR;
}
