//! `NonUniform` in each place where the decoration may stand: on the index, the pointer, the loaded object, what is made of
//! it, a parameter, a copy. Each lane takes its own element of an array of descriptors.

use crate::everywhere::{assembled, run, storage};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{BindingElement, Bound, Image, InputBytes, Inputs, Sampler, Texels, ViewShape};
use dovetail::ir::Op;
use dovetail::target::Stage;

const LANES: u32 = 8;

/// An access by a lane to element `%e` of an array.
struct AccessCase {
    name: &'static str,
    /// Ends with `%r`, the word that the lane writes.
    body: &'static str,
    /// Functions that the body calls.
    functions: &'static str,
    /// Each of these ids alone makes the access non-uniform.
    places: &'static [&'static str],
    /// The word, by lane.
    expected: fn(u32) -> u32,
}

const SAMPLED: &str = "%p = OpAccessChain %p_texture %textures %e
    %l = OpLoad %texture %p
    %s = OpLoad %t_sampler %sampler
    %m = OpSampledImage %t_combined %l %s\n";
const TO_WORD: &str = "\n%x = OpCompositeExtract %f32 %v 0\n%r = OpConvertFToU %u32 %x";

macro_rules! case {
    ($name:expr, $places:expr, $body:expr, $expected:expr) => {
        AccessCase { name: $name, body: $body, functions: "", places: $places, expected: $expected }
    };
}

fn cases() -> Vec<AccessCase> {
    fn kept(parts: &[&str]) -> &'static str {
        parts.concat().leak()
    }
    let sampled = |op: &str| kept(&[SAMPLED, "%v = ", op, TO_WORD]);
    let element = |of: fn(u32) -> u32| of;
    vec![
        case!("sample", &["e", "p", "l", "m"], sampled("OpImageSampleExplicitLod %v4 %m %half2 Lod %f0"), |i| 10
            + i % 4),
        case!(
            "grad",
            &["e", "p", "l", "m"],
            sampled("OpImageSampleExplicitLod %v4 %m %half2 Grad %zero2 %zero2"),
            |i| { 10 + i % 4 }
        ),
        case!("gather", &["e", "p", "l", "m"], sampled("OpImageGather %v4 %m %half2 %n0"), |i| 10 + i % 4),
        case!("fetch", &["e", "p", "l"], sampled("OpImageFetch %v4 %l %izero2 Lod %n0"), |i| 10 + i % 4),
        case!(
            "copy",
            &["e", "p", "l", "c", "m"],
            kept(&[
                "%p = OpAccessChain %p_texture %textures %e
                %l = OpLoad %texture %p
                %c = OpCopyObject %texture %l
                %s = OpLoad %t_sampler %sampler
                %m = OpSampledImage %t_combined %c %s
                %v = OpImageSampleExplicitLod %v4 %m %half2 Lod %f0",
                TO_WORD
            ]),
            |i| 10 + i % 4
        ),
        case!(
            "a copied pointer",
            &["p", "c", "l"],
            kept(&[
                "%p = OpAccessChain %p_texture %textures %e
                %c = OpCopyObject %p_texture %p
                %l = OpLoad %texture %c
                %v = OpImageFetch %v4 %l %izero2 Lod %n0",
                TO_WORD
            ]),
            |i| 10 + i % 4
        ),
        case!(
            "size",
            &["e", "p", "l"],
            kept(&[SAMPLED, "%v = OpImageQuerySizeLod %uv2 %l %n0\n%r = OpCompositeExtract %u32 %v 0"]),
            |i| 8 + i % 4
        ),
        case!("levels", &["e", "p", "l"], kept(&[SAMPLED, "%r = OpImageQueryLevels %u32 %l"]), |i| 1 + i % 4),
        case!(
            "combined",
            &["e", "p", "l"],
            kept(&[
                "%p = OpAccessChain %p_combined %combined %e
                %l = OpLoad %t_combined %p
                %v = OpImageSampleExplicitLod %v4 %l %half2 Lod %f0",
                TO_WORD
            ]),
            |i| 70 + i % 4
        ),
        case!(
            "the image of both",
            &["e", "p", "l", "m"],
            kept(&[
                "%p = OpAccessChain %p_combined %combined %e
                %l = OpLoad %t_combined %p
                %m = OpImage %texture %l
                %v = OpImageFetch %v4 %m %izero2 Lod %n0",
                TO_WORD
            ]),
            |i| 70 + i % 4
        ),
        case!(
            "read",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_image %images %e
            %l = OpLoad %image %p
            %v = OpImageRead %uv4 %l %at2
            %r = OpCompositeExtract %u32 %v 0",
            |i| 20 + i % 4
        ),
        case!(
            "write",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_image %images %e
            %l = OpLoad %image %p
            %own4 = OpCompositeConstruct %uv4 %own %own %own %own
            OpImageWrite %l %at2 %own4
            %back_p = OpAccessChain %p_image %images %e
            %back = OpLoad %image %back_p
            %v = OpImageRead %uv4 %back %at2
            %r = OpCompositeExtract %u32 %v 0",
            |i| 100 + i
        ),
        case!(
            "texel atomic",
            &["e", "p", "q"],
            "%p = OpAccessChain %p_image %images %e
            %q = OpImageTexelPointer %p_texel %p %at2 %n0
            %r = OpAtomicIAdd %u32 %q %n1 %n0 %own",
            |i| 20 + i % 4
        ),
        case!(
            "atomic by a copied texel pointer",
            &["q", "c"],
            "%p = OpAccessChain %p_image %images %e
            %q = OpImageTexelPointer %p_texel %p %at2 %n0
            %c = OpCopyObject %p_texel %q
            %r = OpAtomicIAdd %u32 %c %n1 %n0 %own",
            |i| 20 + i % 4
        ),
        case!(
            "texel buffer",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_texels %texels %e
            %l = OpLoad %t_texels %p
            %v = OpImageFetch %uv4 %l %row
            %r = OpCompositeExtract %u32 %v 0",
            |i| 30 + i % 4
        ),
        case!(
            "texel buffer's size",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_texels %texels %e
            %l = OpLoad %t_texels %p
            %r = OpImageQuerySize %u32 %l",
            |i| 4 + i % 4
        ),
        case!(
            "storage texel buffer",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_stored %stored %e
            %l = OpLoad %t_stored %p
            %v = OpImageRead %uv4 %l %row
            %r = OpCompositeExtract %u32 %v 0",
            |i| 40 + i % 4
        ),
        case!(
            "write to a texel buffer",
            &["e", "p", "l"],
            "%p = OpAccessChain %p_stored %stored %e
            %l = OpLoad %t_stored %p
            %own4 = OpCompositeConstruct %uv4 %own %own %own %own
            OpImageWrite %l %row %own4
            %back_p = OpAccessChain %p_stored %stored %e
            %back = OpLoad %t_stored %back_p
            %v = OpImageRead %uv4 %back %row
            %r = OpCompositeExtract %u32 %v 0",
            |i| 100 + i
        ),
        case!(
            "atomic on a texel buffer",
            &["e", "p", "q"],
            "%p = OpAccessChain %p_stored %stored %e
            %q = OpImageTexelPointer %p_texel %p %row %n0
            %r = OpAtomicIAdd %u32 %q %n1 %n0 %own",
            |i| 40 + i % 4
        ),
        case!(
            "buffer",
            &["e", "p", "q"],
            "%p = OpAccessChain %p_block %blocks %e
            %q = OpAccessChain %p_word %p %n0 %row
            %r = OpLoad %u32 %q",
            |i| 50 + i % 4
        ),
        case!(
            "buffer at once",
            &["e", "q"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %row
            %r = OpLoad %u32 %q",
            |i| 50 + i % 4
        ),
        case!(
            "copied pointer into a buffer",
            &["c"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %row
            %c = OpCopyObject %p_word %q
            %r = OpLoad %u32 %c",
            |i| 50 + i % 4
        ),
        case!(
            "selected pointer",
            &["q", "c"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %n0
            %q1 = OpAccessChain %p_word %blocks %e %n0 %n1
            %even = OpIEqual %bool %row %n0
            %c = OpSelect %p_word %even %q %q1
            %r = OpLoad %u32 %c",
            |i| 50 + i % 4
        ),
        case!(
            "phi of pointers",
            &["c"],
            "%even = OpIEqual %bool %row %n0
            OpSelectionMerge %joined None
            OpBranchConditional %even %first %second
            %first = OpLabel
            %q = OpAccessChain %p_word %blocks %e %n0 %n0
            OpBranch %joined
            %second = OpLabel
            %q1 = OpAccessChain %p_word %blocks %e %n0 %n1
            OpBranch %joined
            %joined = OpLabel
            %c = OpPhi %p_word %q %first %q1 %second
            %r = OpLoad %u32 %c",
            |i| 50 + i % 4
        ),
        case!(
            "store",
            &["e", "q"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %row
            OpStore %q %own
            %back_p = OpAccessChain %p_word %blocks %e %n0 %row
            %r = OpLoad %u32 %back_p",
            |i| 100 + i
        ),
        case!(
            "atomic",
            &["e", "q"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %row
            %r = OpAtomicIAdd %u32 %q %n1 %n0 %own",
            |i| 50 + i % 4
        ),
        case!(
            "length",
            &["e", "p"],
            "%p = OpAccessChain %p_block %blocks %e
            %r = OpArrayLength %u32 %p 0",
            |i| 4 + i % 4
        ),
        case!(
            "copied memory",
            &["e", "q"],
            "%q = OpAccessChain %p_word %blocks %e %n0 %row
            %local = OpVariable %p_local Function
            OpCopyMemory %local %q
            %r = OpLoad %u32 %local",
            |i| 50 + i % 4
        ),
        case!(
            "uniform buffer",
            &["e", "q"],
            "%q = OpAccessChain %p_uniform_word %uniforms %e %n0 %n0
            %r = OpLoad %u32 %q",
            |i| 60 + i % 4
        ),
        AccessCase {
            name: "parameter",
            body: kept(&[
                "%p = OpAccessChain %p_texture %textures %e
                %l = OpLoad %texture %p
                %v = OpFunctionCall %v4 %fetch %l",
                TO_WORD,
            ]),
            functions: "%fetch = OpFunction %v4 None %t_fetch
                %a = OpFunctionParameter %texture
                %begin = OpLabel
                %b = OpImageFetch %v4 %a %izero2 Lod %n0
                OpReturnValue %b
                OpFunctionEnd",
            places: &["a", "l"],
            expected: element(|i| 10 + i % 4),
        },
        AccessCase {
            name: "pointer as a parameter",
            body: "%p = OpAccessChain %p_word %blocks %e %n0 %row
                %r = OpFunctionCall %u32 %get %p",
            functions: "%get = OpFunction %u32 None %t_get
                %a = OpFunctionParameter %p_word
                %begin = OpLabel
                %b = OpLoad %u32 %a
                OpReturnValue %b
                OpFunctionEnd",
            places: &["a", "p"],
            expected: element(|i| 50 + i % 4),
        },
    ]
}

/// The module of a case with the decoration on these ids.
fn module(test: &str, case: &AccessCase, decorated: &[&str]) -> Option<Module> {
    let AccessCase { body, functions, .. } = case;
    let own: String = decorated.iter().map(|id| format!("OpDecorate %{id} NonUniform\n")).collect();
    // What a body does besides the access.
    let back: String = ["back_p", "back"]
        .iter()
        .filter(|id| body.contains(&format!("%{id} =")))
        .map(|id| format!("OpDecorate %{id} NonUniform\n"))
        .collect();
    let (variables, body): (Vec<&str>, Vec<&str>) = body.lines().partition(|line| line.contains("OpVariable"));
    let (variables, body) = (variables.join("\n"), body.join("\n"));
    let arrays = ["textures", "combined", "images", "texels", "stored", "blocks", "uniforms"];
    let bindings: String = (0..)
        .zip(["out", "sampler"].iter().chain(&arrays))
        .map(|(n, id)| format!("OpDecorate %{id} DescriptorSet 0\nOpDecorate %{id} Binding {n}\n"))
        .collect();
    assembled(
        test,
        &format!(
            "OpCapability Shader
            OpCapability ShaderNonUniform
            OpCapability SampledImageArrayNonUniformIndexing
            OpCapability StorageImageArrayNonUniformIndexing
            OpCapability StorageBufferArrayNonUniformIndexing
            OpCapability UniformBufferArrayNonUniformIndexing
            OpCapability UniformTexelBufferArrayNonUniformIndexing
            OpCapability StorageTexelBufferArrayNonUniformIndexing
            OpCapability ImageQuery
            OpCapability SampledBuffer
            OpCapability ImageBuffer
            OpCapability VariablePointersStorageBuffer
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\" %id %out %sampler %{arrays}
            OpExecutionMode %main LocalSize {LANES} 1 1
            OpDecorate %id BuiltIn LocalInvocationIndex
            OpDecorate %words ArrayStride 4
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            OpDecorate %few ArrayStride 16
            OpDecorate %in_uniform Block
            OpMemberDecorate %in_uniform 0 Offset 0
            {bindings}{own}{back}
            %void = OpTypeVoid
            %fn = OpTypeFunction %void
            %bool = OpTypeBool
            %u32 = OpTypeInt 32 0
            %i32 = OpTypeInt 32 1
            %f32 = OpTypeFloat 32
            %v2 = OpTypeVector %f32 2
            %v4 = OpTypeVector %f32 4
            %uv2 = OpTypeVector %u32 2
            %uv4 = OpTypeVector %u32 4
            %iv2 = OpTypeVector %i32 2
            %n0 = OpConstant %u32 0
            %n1 = OpConstant %u32 1
            %n2 = OpConstant %u32 2
            %n3 = OpConstant %u32 3
            %n4 = OpConstant %u32 4
            %n100 = OpConstant %u32 100
            %f0 = OpConstant %f32 0
            %half = OpConstant %f32 0.5
            %half2 = OpConstantComposite %v2 %half %half
            %zero2 = OpConstantNull %v2
            %izero2 = OpConstantNull %iv2
            %texture = OpTypeImage %f32 2D 0 0 0 1 Unknown
            %t_sampler = OpTypeSampler
            %t_combined = OpTypeSampledImage %texture
            %image = OpTypeImage %u32 2D 0 0 0 2 R32ui
            %t_texels = OpTypeImage %u32 Buffer 0 0 0 1 Unknown
            %t_stored = OpTypeImage %u32 Buffer 0 0 0 2 R32ui
            %words = OpTypeRuntimeArray %u32
            %block = OpTypeStruct %words
            %few = OpTypeArray %u32 %n4
            %in_uniform = OpTypeStruct %few
            %a_texture = OpTypeArray %texture %n4
            %a_combined = OpTypeArray %t_combined %n4
            %a_image = OpTypeArray %image %n4
            %a_texels = OpTypeArray %t_texels %n4
            %a_stored = OpTypeArray %t_stored %n4
            %a_block = OpTypeArray %block %n4
            %a_uniform = OpTypeArray %in_uniform %n4
            %pa_texture = OpTypePointer UniformConstant %a_texture
            %pa_combined = OpTypePointer UniformConstant %a_combined
            %pa_image = OpTypePointer UniformConstant %a_image
            %pa_texels = OpTypePointer UniformConstant %a_texels
            %pa_stored = OpTypePointer UniformConstant %a_stored
            %pa_block = OpTypePointer StorageBuffer %a_block
            %pa_uniform = OpTypePointer Uniform %a_uniform
            %p_texture = OpTypePointer UniformConstant %texture
            %p_sampler = OpTypePointer UniformConstant %t_sampler
            %p_combined = OpTypePointer UniformConstant %t_combined
            %p_image = OpTypePointer UniformConstant %image
            %p_texels = OpTypePointer UniformConstant %t_texels
            %p_stored = OpTypePointer UniformConstant %t_stored
            %p_texel = OpTypePointer Image %u32
            %p_block = OpTypePointer StorageBuffer %block
            %p_word = OpTypePointer StorageBuffer %u32
            %p_uniform_word = OpTypePointer Uniform %u32
            %p_local = OpTypePointer Function %u32
            %p_id = OpTypePointer Input %u32
            %t_fetch = OpTypeFunction %v4 %texture
            %t_get = OpTypeFunction %u32 %p_word
            %id = OpVariable %p_id Input
            %out = OpVariable %p_block StorageBuffer
            %sampler = OpVariable %p_sampler UniformConstant
            %textures = OpVariable %pa_texture UniformConstant
            %combined = OpVariable %pa_combined UniformConstant
            %images = OpVariable %pa_image UniformConstant
            %texels = OpVariable %pa_texels UniformConstant
            %stored = OpVariable %pa_stored UniformConstant
            %blocks = OpVariable %pa_block StorageBuffer
            %uniforms = OpVariable %pa_uniform Uniform
            {functions}
            %main = OpFunction %void None %fn
            %entry = OpLabel
            {variables}
            %i = OpLoad %u32 %id
            %e = OpBitwiseAnd %u32 %i %n3
            %row = OpShiftRightLogical %u32 %i %n2
            %own = OpIAdd %u32 %i %n100
            %at2 = OpCompositeConstruct %uv2 %row %n0
            {body}
            %to = OpAccessChain %p_word %out %n0 %i
            OpStore %to %r
            OpReturn
            OpFunctionEnd",
            arrays = arrays.join(" %"),
        ),
    )
}

/// Four elements of each array; each has its own contents and size.
fn inputs(used: &[u32]) -> Inputs {
    let words =
        |value: u32, count: u32| InputBytes(vec![value; count as usize].iter().flat_map(|w| w.to_le_bytes()).collect());
    let image = |format: &str, extent: [u32; 3], levels: u32, bits: u32| Image {
        format: format.to_owned(),
        shape: ViewShape::D2,
        extent,
        layers: 1,
        arrayed: false,
        levels,
        samples: 1,
        swizzle: Default::default(),
        data: words(bits, (0..levels).map(|l| (extent[0] >> l).max(1) * (extent[1] >> l).max(1)).sum()),
    };
    let float = |n: u32| (n as f32).to_bits();
    let mut bindings = vec![storage(0, vec![0; 4 * LANES as usize])];
    bindings.push(BindingElement { set: 0, binding: 1, element: 0, bound: Bound::Sampler(Sampler::default()) });
    for e in 0..4 {
        let texture = |first: u32| image("R32_SFLOAT", [8 + e, 8, 1], 1 + e, float(first + e));
        let texels = |first: u32| Texels { format: "R32_UINT".to_owned(), data: words(first + e, 4 + e) };
        for (binding, bound) in [
            (2, Bound::SampledImage(texture(10))),
            (3, Bound::CombinedImageSampler(texture(70), Sampler::default())),
            (4, Bound::StorageImage(image("R32_UINT", [8, 1, 1], 1, 20 + e))),
            (5, Bound::UniformTexelBuffer(texels(30))),
            (6, Bound::StorageTexelBuffer(texels(40))),
            (7, Bound::StorageBuffer(words(50 + e, 4 + e))),
            (8, Bound::UniformBuffer(words(60 + e, 16))),
        ] {
            bindings.push(BindingElement { set: 0, binding, element: e, bound });
        }
    }
    bindings.retain(|b| used.contains(&b.binding));
    Inputs { bindings, grid: [1; 3], ..Default::default() }
}

#[test]
fn each_lane_has_its_own_element_wherever_the_decoration_stands() {
    let test = "non_uniform::each_lane_has_its_own_element_wherever_the_decoration_stands";
    let mut wrong = Vec::new();
    for case in cases() {
        for place in case.places {
            let Some(module) = module(test, &case, &[place]) else { return };
            let ir = translate(&module, "main", Stage::Compute, &[]).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let used: Vec<u32> = ir.resources.iter().map(|r| r.binding).collect();
            let expected: Vec<u32> = (0..LANES).map(case.expected).collect();
            let all = match run(&module, &inputs(&used)) {
                Ok(all) => all,
                Err(why) => {
                    wrong.push(format!("{}, %{place}: {why}", case.name));
                    continue;
                }
            };
            for left in all {
                let found: Vec<u32> =
                    left.bindings[0].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
                if found != expected {
                    wrong.push(format!("{}, %{place}: {} of {} lanes: {found:?}", case.name, left.way, left.lanes));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_undecorated_descriptor_stays_uniform() {
    let test = "non_uniform::an_undecorated_descriptor_stays_uniform";
    for case in cases() {
        // A phi of variable pointers always counts as divergent.
        if case.name == "phi of pointers" {
            continue;
        }
        let mut plain = case;
        // The second access of some bodies has its own.
        plain.body = plain.body.split("%back_p").next().unwrap_or_default();
        let ends = if plain.body.contains("%r =") { "" } else { "\n%r = OpCopyObject %u32 %own" };
        plain.body = [plain.body, ends].concat().leak();
        let Some(module) = module(test, &plain, &[]) else { return };
        let ir = translate(&module, "main", Stage::Compute, &[]).unwrap_or_else(|e| panic!("{}: {e}", plain.name));
        let marked = ir.live_insts().filter(|i| matches!(i.op, Op::Descriptor { non_uniform: true, .. })).count();
        assert_eq!(marked, 0, "{}", plain.name);
    }
}
