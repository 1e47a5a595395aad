"""Compute shaders of several kinds, run by wgpu; prints a digest of what they leave."""

import hashlib

import numpy
import wgpu

SCAN = """
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
var<workgroup> part: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    part[local.x] = given[at.x];
    workgroupBarrier();
    for (var step = 1u; step < 64u; step *= 2u) {
        var left = 0u;
        if (local.x >= step) { left = part[local.x - step]; }
        workgroupBarrier();
        part[local.x] += left;
        workgroupBarrier();
    }
    sums[at.x] = part[local.x];
}
"""
HISTOGRAM = """
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    atomicAdd(&counts[given[at.x] % 16u], 1u);
}
"""
PRODUCT = """
struct Size { rows: u32, inner: u32, columns: u32, scale: f32 };
@group(0) @binding(0) var<uniform> size: Size;
@group(0) @binding(1) var<storage, read> left: array<f32>;
@group(0) @binding(2) var<storage, read> right: array<f32>;
@group(0) @binding(3) var<storage, read_write> product: array<f32>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    if (at.x >= size.columns || at.y >= size.rows) { return; }
    var sum = 0.0;
    for (var k = 0u; k < size.inner; k++) { sum += left[at.y * size.inner + k] * right[k * size.columns + at.x]; }
    product[at.y * size.columns + at.x] = sum * size.scale;
}
"""
BLUR = """
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var smoothly: sampler;
@group(0) @binding(2) var blurred: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = vec2<f32>(textureDimensions(picture));
    var sum = vec4<f32>();
    for (var n = -2; n <= 2; n++) {
        sum += textureSampleLevel(picture, smoothly, (vec2<f32>(at.xy) + vec2<f32>(f32(n), 0.5)) / size, 0.0);
    }
    textureStore(blurred, at.xy, sum / 5.0);
}
"""

device = wgpu.gpu.request_adapter_sync().request_device_sync()
storage, texture_usage = wgpu.BufferUsage.STORAGE, wgpu.TextureUsage
random = numpy.random.RandomState(7)


def buffer(contents, usage=storage):
    return device.create_buffer_with_data(data=contents, usage=usage)


def run(code, resources, groups, times=1):
    module = device.create_shader_module(code=code)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    entries = [{"binding": n, "resource": resource} for n, resource in enumerate(resources)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    commands = device.create_command_encoder()
    dispatches = commands.begin_compute_pass()
    dispatches.set_pipeline(pipeline)
    dispatches.set_bind_group(0, group)
    for _ in range(times):
        dispatches.dispatch_workgroups(*groups)
    dispatches.end()
    device.queue.submit([commands.finish()])


def whole(made):
    return {"buffer": made, "offset": 0, "size": made.size}


numbers = random.randint(0, 1000, 1024).astype("u4")
outputs = storage | wgpu.BufferUsage.COPY_SRC
sums, counts = buffer(numpy.zeros(1024, "u4"), outputs), buffer(numpy.zeros(16, "u4"), outputs)
run(SCAN, [whole(buffer(numbers)), whole(sums)], (16, 1, 1))
run(HISTOGRAM, [whole(buffer(numbers)), whole(counts)], (16, 1, 1), times=3)
size = numpy.array([24, 40, 20], "u4").tobytes() + numpy.float32(0.25).tobytes()
left, right = random.rand(24 * 40).astype("f4"), random.rand(40 * 20).astype("f4")
product = buffer(numpy.zeros(24 * 20, "f4"), outputs)
uniform = buffer(size, wgpu.BufferUsage.UNIFORM)
run(PRODUCT, [whole(uniform), whole(buffer(left)), whole(buffer(right)), whole(product)], (3, 3, 1))
shape = {"size": (32, 16, 1), "format": "rgba8unorm"}
picture = device.create_texture(usage=texture_usage.TEXTURE_BINDING | texture_usage.COPY_DST, **shape)
blurred = device.create_texture(usage=texture_usage.STORAGE_BINDING | texture_usage.COPY_SRC, **shape)
texels = random.randint(0, 256, 32 * 16 * 4).astype("u1")
device.queue.write_texture({"texture": picture}, texels, {"bytes_per_row": 128, "rows_per_image": 16}, (32, 16, 1))
smoothly = device.create_sampler(mag_filter="linear", min_filter="linear")
run(BLUR, [picture.create_view(), smoothly, blurred.create_view()], (4, 2, 1))
left_over = [device.queue.read_buffer(made) for made in (sums, counts, product)]
left_over.append(device.queue.read_texture({"texture": blurred}, {"bytes_per_row": 128, "rows_per_image": 16}, (32, 16, 1)))
print("numbers", hashlib.sha256(b"".join(bytes(one) for one in left_over)).hexdigest())
