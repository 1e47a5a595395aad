//! The SPIR-V front end on assembly that GLSL cannot produce, and on invalid input.

use crate::invocation::run::{World, run};
use crate::invocation::{shader, words};
use crate::support;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::error::ErrorKind;
use dovetail::ir::verify::verify;
use dovetail::target::Stage;

/// Assembles SPIR-V; `None` if the assembler is missing.
pub fn assemble(test: &str, source: &str) -> Option<Module> {
    let tool = support::tool(test, "spirv-as")?;
    let bytes = tool.run(&["--target-env", "vulkan1.3", "-o", "-", "-"], source.as_bytes());
    Some(Module::new(bytes).expect("a module"))
}

/// Wraps a main function that writes to a storage buffer of words, in assembly.
pub fn assembly(types: &str, body: &str) -> String {
    format!(
        "OpCapability Shader
        OpCapability Int64
        OpCapability VariablePointersStorageBuffer
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %out
        OpExecutionMode %main LocalSize 1 1 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %words ArrayStride 4
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 0
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %u64 = OpTypeInt 64 0
        %bool = OpTypeBool
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %n2 = OpConstant %u32 2
        %n7 = OpConstant %u32 7
        %words = OpTypeArray %u32 %n7
        %block = OpTypeStruct %words
        %to_block = OpTypePointer StorageBuffer %block
        %to_u32 = OpTypePointer StorageBuffer %u32
        %out = OpVariable %to_block StorageBuffer
        {types}
        %main = OpFunction %void None %fn
        {body}
        OpFunctionEnd"
    )
}

fn run_assembly(test: &str, source: &str) -> Option<Vec<u32>> {
    let module = assemble(test, source)?;
    let mut world = World { buffers: vec![words(&[1, 2, 3, 4, 5, 6, 7])], ..World::default() };
    run(&shader(&module, Stage::Compute, &[]), &mut world);
    Some(world.buffers[0].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

#[test]
fn phis_of_pointers_and_values_swap_at_once() {
    // An order of blocks that only satisfies dominance: a merge block comes before the blocks that it merges.
    let source = assembly(
        "%true = OpConstantTrue %bool",
        "%entry = OpLabel
        %p0 = OpAccessChain %to_u32 %out %n0 %n0
        %p2 = OpAccessChain %to_u32 %out %n0 %n2
        %first = OpLoad %u32 %p0
        %cond = OpIEqual %bool %first %n1
        OpSelectionMerge %merge None
        OpBranchConditional %cond %left %right
        %merge = OpLabel
        %p = OpPhi %to_u32 %p2 %left %p0 %right
        %x = OpPhi %u32 %n7 %left %n2 %right
        OpStore %p %x
        OpBranch %loop
        %loop = OpLabel
        %a = OpPhi %u32 %n1 %merge %b %next
        %b = OpPhi %u32 %n2 %merge %a %next
        %k = OpPhi %u32 %n0 %merge %k1 %next
        OpLoopMerge %end %next None
        %more = OpULessThan %bool %k %n7
        OpBranchConditional %more %next %end
        %next = OpLabel
        %k1 = OpIAdd %u32 %k %n1
        OpBranch %loop
        %end = OpLabel
        %p1 = OpAccessChain %to_u32 %out %n0 %n1
        OpStore %p1 %a
        OpReturn
        %left = OpLabel
        OpBranch %merge
        %right = OpLabel
        OpBranch %merge",
    );
    let Some(got) = run_assembly("phis_of_pointers_and_values_swap_at_once", &source) else { return };
    assert_eq!(got, [1, 2, 7, 4, 5, 6, 7], "seven swaps of (1, 2) leave 2 in a");
}

#[test]
fn copies_and_wide_selectors() {
    let source = assembly(
        "%big = OpConstant %u64 0x100000002
        %arr = OpTypeArray %u32 %n7
        %to_arr = OpTypePointer Function %arr
        %to_local = OpTypePointer Function %u32
        %to_words = OpTypePointer StorageBuffer %words",
        "%entry = OpLabel
        %local = OpVariable %to_arr Function
        %from = OpAccessChain %to_words %out %n0
        %whole = OpLoad %words %from
        %logical = OpCopyLogical %arr %whole
        OpStore %local %logical
        %l2 = OpAccessChain %to_local %local %n2
        %o0 = OpAccessChain %to_u32 %out %n0 %n0
        OpCopyMemory %o0 %l2
        OpSelectionMerge %done None
        OpSwitch %big %other 2 %wrong 0x100000002 %right
        %wrong = OpLabel
        OpStore %o0 %n0
        OpBranch %done
        %right = OpLabel
        %o1 = OpAccessChain %to_u32 %out %n0 %n1
        OpStore %o1 %n7
        OpBranch %done
        %other = OpLabel
        OpUnreachable
        %done = OpLabel
        OpReturn",
    );
    let Some(got) = run_assembly("copies_and_wide_selectors", &source) else { return };
    assert_eq!(got, [3, 7, 3, 4, 5, 6, 7]);
}

/// Compilers and tools describe the source before the phis of a block, before its label, and between functions.
#[test]
fn instructions_without_an_effect_may_be_anywhere() {
    let body = "%before = OpExtInst %void %debug DebugScope %unit
        %entry = OpLabel
        %within = OpExtInst %void %debug DebugScope %unit
        %from = OpAccessChain %to_u32 %out %n0 %n2
        %x = OpLoad %u32 %from
        %is_0 = OpIEqual %bool %x %n0
        OpSelectionMerge %join None
        OpBranchConditional %is_0 %then %join
        %then = OpLabel
        OpBranch %join
        %join = OpLabel
        %joined = OpExtInst %void %debug DebugScope %unit
        OpLine %file 5 6
        %either = OpPhi %u32 %x %entry %n1 %then
        %noted = OpExtInst %void %remark 2 %either
        %to = OpAccessChain %to_u32 %out %n0 %n1
        OpStore %to %either
        OpReturn
        %after = OpExtInst %void %debug DebugNoScope
        OpFunctionEnd
        %between = OpExtInst %void %remark 3 %main
        %other = OpFunction %void None %fn
        %other_entry = OpLabel
        OpReturn";
    let types = "%source = OpExtInst %void %debug DebugSource %file
        %unit = OpExtInst %void %debug DebugCompilationUnit 2 4 %source HLSL";
    let sets = "OpExtension \"SPV_KHR_non_semantic_info\"
        %debug = OpExtInstImport \"OpenCL.DebugInfo.100\"
        %remark = OpExtInstImport \"NonSemantic.Remark\"
        OpMemoryModel Logical GLSL450";
    let source = assembly(types, body).replace("OpMemoryModel Logical GLSL450", sets);
    let source = source.replace("OpDecorate %block Block", "%file = OpString \"a file\"\nOpDecorate %block Block");
    let Some(words) = run_assembly("assembly", &source) else { return };
    assert_eq!(words[..3], [1, 3, 3]);
}

#[test]
fn empty_structures_take_no_memory_and_constants_round_to_halves() {
    let source = assembly(
        "%empty = OpTypeStruct
        %to_empty = OpTypePointer Function %empty
        %f32 = OpTypeFloat 32
        %third = OpConstant %f32 0.333333343
        %half = OpSpecConstantOp %f32 QuantizeToF16 %third",
        "%start = OpLabel
        %none = OpVariable %to_empty Function
        %nothing = OpLoad %empty %none
        OpStore %none %nothing
        %to = OpAccessChain %to_u32 %out %n0 %n1
        %bits = OpBitcast %u32 %half
        OpStore %to %bits
        OpReturn",
    );
    let test = "empty_structures_take_no_memory_and_constants_round_to_halves";
    let Some(left) = run_assembly(test, &source) else { return };
    assert_eq!(left, [1, 0x3eaa_a000, 3, 4, 5, 6, 7]);
}

#[test]
fn deep_calls_fit_a_small_stack_and_deeper_ones_are_refused() {
    let chain = |n: usize, calls: usize| {
        let mut source = assembly("%word_fn = OpTypeFunction %u32 %u32", "%entry = OpLabel\nCALL\nOpReturn");
        let call = "%x = OpFunctionCall %u32 %f1 %n1
            %p = OpAccessChain %to_u32 %out %n0 %n0
            OpStore %p %x";
        source = source.replace("CALL", call);
        for k in 1..=n {
            let (this, next) = (format!("%f{k}"), format!("%f{}", k + 1));
            let body = match k == n {
                true => format!("%r{k} = OpIAdd %u32 %a{k} %n7"),
                false => {
                    let more = (1..calls).map(|c| format!("%r{k}_{c} = OpFunctionCall %u32 {next} %a{k}\n"));
                    let first = format!("%s{k} = OpIAdd %u32 %a{k} %n1\n%r{k} = OpFunctionCall %u32 {next} %s{k}");
                    more.collect::<String>() + &first
                }
            };
            source += &format!(
                "\n{this} = OpFunction %u32 None %word_fn\n%a{k} = OpFunctionParameter %u32\n%l{k} = OpLabel\n{body}
                OpReturnValue %r{k}\nOpFunctionEnd"
            );
        }
        source
    };
    let name = "deep_calls_fit_a_small_stack_and_deeper_ones_are_refused";
    // A test's thread has 2 MB of stack.
    let Some(got) = run_assembly(name, &chain(90, 1)) else { return };
    assert_eq!(got[0], 1 + 89 + 7);
    let module = assemble(name, &chain(200, 1)).expect("as before");
    let error = translate(&module, "main", Stage::Compute, &[]).expect_err("too deep");
    assert!(matches!(error.kind(), ErrorKind::Unsupported { feature, .. } if feature == "call depth"), "{error}");
    let module = assemble(name, &chain(60, 2)).expect("as before");
    let error = translate(&module, "main", Stage::Compute, &[]).expect_err("2^60 calls");
    assert!(matches!(error.kind(), ErrorKind::Unsupported { feature, .. } if feature == "shader size"), "{error}");
}

#[test]
fn the_length_of_an_array_is_not_cut_to_32_bits() {
    let test = "assembly::the_length_of_an_array_is_not_cut_to_32_bits";
    let source = |length: u64| {
        let types = format!(
            "%length = OpConstant %u64 {length}
            %many = OpTypeArray %u32 %length
            %many_f = OpTypePointer Function %many"
        );
        assembly(&types, "%entry = OpLabel\n%local = OpVariable %many_f Function\nOpReturn")
    };
    for (length, allowed) in [(4, true), ((1 << 32) + 4, false), (1 << 33, false)] {
        let Some(module) = assemble(test, &source(length)) else { return };
        let error = translate(&module, "main", Stage::Compute, &[]).err();
        assert_eq!(error.map(|e| e.exit_code()), if allowed { None } else { Some(3) }, "{length}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        ("%x = OpIAdd %u32 %n1 %never", "%never = OpIAdd %u32 %n1 %n2", "is not defined here"),
        ("%x = OpIAdd %u32 %n1 %fn", "", "is not a value"),
        ("%x = OpIAdd %u32 %n1 %main", "", "is not a value"),
        ("%x = OpAccessChain %to_u32 %out %n1 %n0", "", "no member 1"),
        ("%x = OpFunctionCall %void %main", "", "calls itself"),
    ];
    for (bad, after, want) in cases {
        let source = assembly("", &format!("%entry = OpLabel\n{bad}\n{after}\nOpReturn"));
        let Some(module) = assemble("what_is_wrong_is_said_with_its_place", &source) else { return };
        let error = translate(&module, "main", Stage::Compute, &[]).expect_err(bad);
        assert!(matches!(error.kind(), ErrorKind::Malformed(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(want) && text.contains("word "), "{bad}: {text}");
    }
}

/// A module built without tools.
fn stored() -> Vec<u8> {
    let path = support::root().join("testdata/spirv/glsl450.comp.spv");
    std::fs::read(path).expect("a compiled shader")
}

#[test]
fn both_byte_orders_are_the_same_module() {
    let bytes = stored();
    let swapped: Vec<u8> = bytes.chunks(4).flat_map(|w| [w[3], w[2], w[1], w[0]]).collect();
    let text = |bytes| shader(&Module::new(bytes).expect("a module"), Stage::Compute, &[]).to_string();
    assert_eq!(text(bytes), text(swapped));
}

#[test]
fn cut_off_and_changed_words_give_errors_not_panics() {
    let bytes = stored();
    let translate_all = |bytes: Vec<u8>| {
        let Ok(module) = Module::new(bytes) else { return false };
        // An internal error is a failure: invalid words must be rejected, or translate to IR that the verifier accepts.
        match translate(&module, "main", Stage::Compute, &[]) {
            Ok(shader) => {
                verify(&shader).expect("what is translated is well-formed");
                true
            }
            Err(e) => {
                assert!(!matches!(e.kind(), ErrorKind::Bug(_)), "{e}");
                false
            }
        }
    };
    assert!(translate_all(bytes.clone()));
    for len in (0..bytes.len()).step_by(1604) {
        assert!(!translate_all(bytes[..len].to_vec()), "{len} bytes");
    }
    let mut seed = 1u32;
    for _ in 0..300 {
        let mut changed = bytes.clone();
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = 20 + seed as usize % (bytes.len() - 20);
        changed[at] ^= 1 << (seed >> 29);
        translate_all(changed);
    }
}

/// Wraps the interface of a vertex shader, in assembly.
fn vertex(decorations: &str, body: &str, interface: &str) -> String {
    format!(
        "OpCapability Shader
        OpCapability Float64
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %main \"main\" {interface}
        {decorations}
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %f32 = OpTypeFloat 32
        %f64 = OpTypeFloat 64
        %v2 = OpTypeVector %f32 2
        %v4 = OpTypeVector %f32 4
        %d3 = OpTypeVector %f64 3
        %n0 = OpConstant %u32 0
        {body}"
    )
}

/// If told to, glslang counts locations as OpenGL does: a `dvec3` then shares one with the next attribute.
#[test]
fn inputs_of_one_location_have_one_width() {
    let body = "%in_f32 = OpTypePointer Input %v4
        %in_f64 = OpTypePointer Input %d3
        %narrow = OpVariable %in_f32 Input
        %wide = OpVariable %in_f64 Input
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %x = OpLoad %d3 %wide
        %y = OpLoad %v4 %narrow
        OpReturn
        OpFunctionEnd";
    for (location, malformed) in [(3, false), (4, true), (5, true), (6, false)] {
        let decorations = format!("OpDecorate %wide Location 4\nOpDecorate %narrow Location {location}");
        let source = vertex(&decorations, body, "%wide %narrow");
        let Some(module) = assemble("inputs_of_one_location_have_one_width", &source) else { return };
        match translate(&module, "main", Stage::Vertex, &[]) {
            Ok(_) => assert!(!malformed, "location {location}"),
            Err(error) => {
                assert!(malformed && matches!(error.kind(), ErrorKind::Malformed(_)), "location {location}: {error}");
                assert!(error.to_string().contains(&format!("location {location}")), "{error}");
            }
        }
    }
}

/// OpenGL allows samplers in structs, Vulkan does not.
#[test]
fn samplers_in_a_struct_are_malformed() {
    let body = "%image = OpTypeImage %f32 2D 0 0 0 1 Unknown
        %sampled = OpTypeSampledImage %image
        %struct = OpTypeStruct %sampled
        %to_struct = OpTypePointer UniformConstant %struct
        %to_sampled = OpTypePointer UniformConstant %sampled
        %textures = OpVariable %to_struct UniformConstant
        %zero = OpConstantNull %v2
        %level = OpConstant %f32 0
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %at = OpAccessChain %to_sampled %textures %n0
        %texture = OpLoad %sampled %at
        %texel = OpImageSampleExplicitLod %v4 %texture %zero Lod %level
        OpReturn
        OpFunctionEnd";
    let source = vertex("OpDecorate %textures DescriptorSet 0\nOpDecorate %textures Binding 0", body, "");
    let Some(module) = assemble("samplers_in_a_struct_are_malformed", &source) else { return };
    let error = translate(&module, "main", Stage::Vertex, &[]).expect_err("no descriptor");
    assert!(matches!(error.kind(), ErrorKind::Malformed(_)), "{error}");
    assert!(error.to_string().contains("in a struct"), "{error}");
}

/// A value has at most 16,384 scalars; what has more is a limit of ours, unless its parts are those of another type.
#[test]
fn a_huge_constant_is_unsupported_and_one_of_another_type_malformed() {
    for (part, kind) in [("%row", "huge value"), ("%two", "malformed")] {
        let rows = vec!["%row"; 127].join(" ");
        let types = format!(
            "%n129 = OpConstant %u32 129
             %n128 = OpConstant %u32 128
             %one_row = OpTypeArray %u32 %n128
             %row = OpConstantNull %one_row
             %two_rows = OpTypeArray %one_row %n2
             %two = OpConstantComposite %two_rows %row %row
             %all_rows = OpTypeArray %one_row {}
             %all = OpConstantComposite %all_rows {rows} {}",
            if part == "%row" { "%n129" } else { "%n128" },
            if part == "%row" { "%row %row" } else { part },
        );
        let Some(module) = assemble("huge_constants", &assembly(&types, "%entry = OpLabel\nOpReturn")) else { return };
        let error = translate(&module, "main", Stage::Compute, &[]).expect_err("too many");
        let fits = match error.kind() {
            ErrorKind::Unsupported { feature, .. } => feature == kind,
            ErrorKind::Malformed(_) => kind == "malformed",
            _ => false,
        };
        assert!(fits, "{kind}: {error}");
    }
}

#[test]
fn alignments_that_are_no_power_of_two_hold_as_far_as_they_divide() {
    // glslang writes 0 for members of unknown alignment, in Mesa's own kernels.
    for align in [0, 12] {
        let body = format!(
            "%entry = OpLabel
             %from = OpAccessChain %to_u32 %out %n0 %n2
             %to = OpAccessChain %to_u32 %out %n0 %n1
             %x = OpLoad %u32 %from Aligned {align}
             OpStore %to %x Aligned {align}
             OpReturn"
        );
        let Some(words) = run_assembly("assembly", &assembly("", &body)) else { return };
        assert_eq!(words[..3], [1, 3, 3], "Aligned {align}");
    }
}

/// An optimizer leaves such indices in unrolled loops, behind conditions that are never true.
#[test]
fn an_index_beyond_an_input_is_only_undefined() {
    let source = assembly(
        "OpDecorate %id BuiltIn GlobalInvocationId
        %v3 = OpTypeVector %u32 3
        %to_id = OpTypePointer Input %v3
        %to_in = OpTypePointer Input %u32
        %id = OpVariable %to_id Input
        %n3 = OpConstant %u32 3
        %n64 = OpConstant %u32 64
        %false = OpConstantFalse %bool",
        "%entry = OpLabel
        %p0 = OpAccessChain %to_u32 %out %n0 %n0
        %p1 = OpAccessChain %to_u32 %out %n0 %n1
        %x = OpLoad %u32 %p0
        OpSelectionMerge %next None
        OpBranchConditional %false %never %next
        %never = OpLabel
        %third = OpAccessChain %to_in %id %n3
        %y = OpLoad %u32 %third
        %sum = OpIAdd %u32 %x %y
        OpBranch %next
        %next = OpLabel
        %v = OpPhi %u32 %x %entry %sum %never
        %odd = OpBitwiseAnd %u32 %x %n1
        %big = OpUGreaterThan %bool %odd %n64
        OpSelectionMerge %end None
        OpBranchConditional %big %unlikely %end
        %unlikely = OpLabel
        %far = OpAccessChain %to_in %id %n64
        %z = OpLoad %u32 %far
        %other = OpIAdd %u32 %v %z
        OpBranch %end
        %end = OpLabel
        %w = OpPhi %u32 %v %next %other %unlikely
        OpStore %p1 %w
        OpReturn",
    );
    let Some(module) = assemble("an_index_beyond_an_input_is_only_undefined", &source) else { return };
    let shader = shader(&module, Stage::Compute, &[]);
    for value in [6, 7] {
        let mut world = World { buffers: vec![words(&[value, 0, 0, 0, 0, 0, 0])], ..World::default() };
        run(&shader, &mut world);
        assert_eq!(world.buffers[0], words(&[value, value, 0, 0, 0, 0, 0]));
    }
}
