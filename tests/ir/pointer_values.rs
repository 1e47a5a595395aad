//! The SPIR-V front end on pointers, images and samplers in variables: what is known costs no memory, and what cannot be
//! translated is refused by name.

use crate::assembly::{assemble, assembly};
use crate::invocation::shader;
use dovetail::compile::spirv::translate;
use dovetail::ir::{Op, Shader};
use dovetail::target::Stage;

/// A fragment shader that samples `%texture` in a loop, and writes the sum.
fn fragment(variables: &str, before: &str, within: &str) -> String {
    format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint Fragment %main \"main\" %out
        OpExecutionMode %main OriginUpperLeft
        OpDecorate %out Location 0
        OpDecorate %first DescriptorSet 0
        OpDecorate %first Binding 0
        OpDecorate %second DescriptorSet 0
        OpDecorate %second Binding 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %u32 = OpTypeInt 32 0
        %f32 = OpTypeFloat 32
        %v2 = OpTypeVector %f32 2
        %v4 = OpTypeVector %f32 4
        %image = OpTypeImage %f32 2D 0 0 0 1 Unknown
        %sampled = OpTypeSampledImage %image
        %to_sampled = OpTypePointer UniformConstant %sampled
        %to_local = OpTypePointer Function %sampled
        %to_out = OpTypePointer Output %v4
        %zero = OpConstantNull %v4
        %level = OpConstant %f32 0
        %half = OpConstant %f32 0.5
        %place = OpConstantComposite %v2 %half %half
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %n7 = OpConstant %u32 7
        %first = OpVariable %to_sampled UniformConstant
        %second = OpVariable %to_sampled UniformConstant
        %out = OpVariable %to_out Output
        %main = OpFunction %void None %fn
        %entry = OpLabel
        {variables}
        {before}
        OpBranch %head
        %head = OpLabel
        %n = OpPhi %u32 %n0 %entry %next %again
        %sum = OpPhi %v4 %zero %entry %more %again
        OpLoopMerge %end %again None
        OpBranch %test
        %test = OpLabel
        %less = OpULessThan %bool %n %n7
        OpBranchConditional %less %body %end
        %body = OpLabel
        {within}
        %texel = OpImageSampleExplicitLod %v4 %texture %place Lod %level
        %more = OpFAdd %v4 %sum %texel
        OpBranch %again
        %again = OpLabel
        %next = OpIAdd %u32 %n %n1
        OpBranch %head
        %end = OpLabel
        OpStore %out %sum
        OpReturn
        OpFunctionEnd"
    )
}

fn operations(shader: &Shader) -> Vec<Op> {
    shader.live_insts().map(|inst| inst.op.clone()).collect()
}

#[test]
fn a_texture_in_a_variable_is_the_texture() {
    let test = "a_texture_in_a_variable_is_the_texture";
    let variable = "%kept = OpVariable %to_local Function";
    let direct = fragment("", "%texture = OpLoad %sampled %first", "");
    let stored = "%loaded = OpLoad %sampled %first\nOpStore %kept %loaded";
    let kept = fragment(variable, stored, "%texture = OpLoad %sampled %kept");
    let (Some(direct), Some(kept)) = (assemble(test, &direct), assemble(test, &kept)) else { return };
    let [direct, kept] = [direct, kept].map(|module| operations(&shader(&module, Stage::Fragment, &[])));
    assert_eq!(direct, kept);
}

#[test]
fn a_variable_for_several_textures_holds_the_last_one_and_is_refused_where_that_is_not_known() {
    let test = "a_variable_for_several_textures";
    let variable = "%kept = OpVariable %to_local Function";
    let both = "%one = OpLoad %sampled %first\n%two = OpLoad %sampled %second\nOpStore %kept %one\nOpStore %kept %two";
    let known = fragment(variable, both, "OpStore %kept %one\n%texture = OpLoad %sampled %kept");
    let unknown = fragment(variable, both, "%texture = OpLoad %sampled %kept\nOpStore %kept %one");
    let (Some(known), Some(unknown)) = (assemble(test, &known), assemble(test, &unknown)) else { return };
    let known = shader(&known, Stage::Fragment, &[]);
    let bindings: Vec<u32> = known.resources.iter().map(|r| r.binding).collect();
    let image = known.live_insts().find(|inst| matches!(inst.op, Op::Image(_))).expect("it samples");
    let Some(Op::Descriptor { resource, .. }) = known.def(image.args[0]).map(|def| def.op.clone()) else {
        panic!("{known}")
    };
    assert_eq!(bindings[resource.index()], 0);
    let error = translate(&unknown, "main", Stage::Fragment, &[]).expect_err("either");
    assert!(error.to_string().contains("image or sampler in a variable"), "{error}");
}

const TYPES: &str = "%local = OpTypePointer Function %to_u32
    %null = OpConstantNull %to_u32
    %word = OpTypePointer Function %u32
    %to_word = OpTypePointer Function %word";

/// A variable whose pointers all go into one buffer decides nothing: no descriptor is chosen.
#[test]
fn one_buffer_needs_no_choice() {
    let body = "%entry = OpLabel
        %at = OpVariable %local Function
        %p0 = OpAccessChain %to_u32 %out %n0 %n0
        %p2 = OpAccessChain %to_u32 %out %n0 %n2
        %x = OpLoad %u32 %p0
        %is_1 = OpIEqual %bool %x %n1
        OpStore %at %p0
        OpSelectionMerge %join None
        OpBranchConditional %is_1 %then %join
        %then = OpLabel
        OpStore %at %p2
        OpBranch %join
        %join = OpLabel
        %p = OpLoad %to_u32 %at
        OpStore %p %n7
        OpReturn";
    let Some(module) = assemble("one_buffer_needs_no_choice", &assembly(TYPES, body)) else { return };
    let shader = shader(&module, Stage::Compute, &[]);
    let stores: Vec<_> = shader.live_insts().filter(|inst| matches!(inst.op, Op::BufferStore { .. })).collect();
    let descriptor = shader.def(stores[0].args[0]).map(|def| &def.op);
    assert!(matches!(descriptor, Some(Op::Descriptor { non_uniform: false, .. })), "{shader}");
}

#[test]
fn what_no_variable_pointer_may_be_is_refused() {
    let function_pointer = "%entry = OpLabel
        %v = OpVariable %to_word Function
        OpReturn";
    let compared = "%entry = OpLabel
        %p0 = OpAccessChain %to_u32 %out %n0 %n0
        %same = OpPtrEqual %bool %p0 %n0
        OpReturn";
    let cases = [
        (TYPES, function_pointer, "holding a pointer"),
        (TYPES, compared, "not pointers"),
        (
            "%bad = OpTypeStruct %to_u32
            %to_bad = OpTypePointer StorageBuffer %bad
            %there = OpVariable %to_bad StorageBuffer",
            "%entry = OpLabel
            %p = OpAccessChain %to_u32 %there %n0
            OpReturn",
            "not of one invocation",
        ),
        (
            "%f32 = OpTypeFloat 32
            %v2 = OpTypeVector %f32 2
            %mat = OpTypeMatrix %v2 2
            %mats = OpTypeStruct %mat
            %to_mats = OpTypePointer StorageBuffer %mats
            %to_v2 = OpTypePointer StorageBuffer %v2
            %local = OpTypePointer Function %to_v2
            %plain = OpTypeStruct %v2
            %to_plain = OpTypePointer StorageBuffer %plain
            %there = OpVariable %to_mats StorageBuffer
            %here = OpVariable %to_plain StorageBuffer",
            "%entry = OpLabel
            %v = OpVariable %local Function
            %q = OpAccessChain %to_v2 %here %n0
            OpStore %v %q
            %p = OpAccessChain %to_v2 %there %n0 %n1
            OpStore %v %p
            OpReturn",
            "part of a matrix",
        ),
    ];
    for (types, body, wanted) in cases {
        let bound = "OpDecorate %there DescriptorSet 0\nOpDecorate %there Binding 1\nOpMemberDecorate";
        let bound = match types.contains("%here") {
            // A column of a row-major matrix, and a vector that is none: they differ in strides.
            true => format!(
                "OpDecorate %here DescriptorSet 0\nOpDecorate %here Binding 2\nOpMemberDecorate %plain 0 Offset 0
                OpMemberDecorate %mats 0 Offset 0\nOpMemberDecorate %mats 0 RowMajor
                OpMemberDecorate %mats 0 MatrixStride 8\n{bound}"
            ),
            false => bound.to_owned(),
        };
        let source = assembly(types, body);
        let source = if types.contains("%there") { source.replacen("OpMemberDecorate", &bound, 1) } else { source };
        let Some(module) = assemble("what_no_variable_pointer_may_be_is_refused", &source) else { return };
        let error = translate(&module, "main", Stage::Compute, &[]).expect_err(wanted);
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
    }
}
