//! `SPV_KHR_bfloat16`, in words where the assembler does not know it: results by hand, and what is refused.

use crate::assembly::{assemble, assembly};
use crate::invocation::{run_lanes, shader};
use dovetail::compile::spirv::translate;
use dovetail::error::ErrorKind;
use dovetail::target::Stage;

/// A module with the type `%bf`, which has vectors, pointers and two numbers.
fn module(types: &str, body: &str) -> String {
    // Words would continue the variable before them, which has an optional operand.
    let all = format!(
        "%u16 = OpTypeInt 16 0
        !0x00040016 %bf 16 0
        %f16 = OpTypeFloat 16
        %f32 = OpTypeFloat 32
        %f64 = OpTypeFloat 64
        %v2b = OpTypeVector %bf 2
        %v2f = OpTypeVector %f32 2
        %to_bf = OpTypePointer Function %bf
        !0x0004002b %bf %one 0x3f80
        !0x0004002b %bf %three 0x4040
        {types}"
    );
    let body = format!("%entry = OpLabel\n%variable = OpVariable %to_bf Function\n{body}\nOpReturn");
    let head = "OpCapability Float16\nOpCapability Float64\nOpCapability Int16\nOpCapability GroupNonUniformArithmetic
        !0x00020011 !5116\n!0x00020011 !5117\nOpExtension \"SPV_KHR_bfloat16\"
        %glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel";
    assembly(&all, &body).replacen("OpMemoryModel", head, 1)
}

/// Stores the bits of a value of this type to the n-th word.
fn store(n: usize, value: &str, wide: bool) -> String {
    let bits = if wide {
        format!("%bits{n} = OpBitcast %u32 {value}")
    } else {
        format!("%short{n} = OpBitcast %u16 {value}\n%bits{n} = OpUConvert %u32 %short{n}")
    };
    format!("{bits}\n%to{n} = OpAccessChain %to_u32 %out %n0 %w{n}\nOpStore %to{n} %bits{n}\n")
}

/// The seven words that a module stores.
fn run(test: &str, source: &str) -> Option<Vec<u32>> {
    let ir = shader(&assemble(test, source)?, Stage::Compute, &[]);
    Some(run_lanes(&ir, &[(0, vec![0; 7])], 32).0)
}

const WORDS: &str = "%w0 = OpConstant %u32 0\n%w1 = OpConstant %u32 1\n%w2 = OpConstant %u32 2\n%w3 = OpConstant %u32 3
    %w4 = OpConstant %u32 4\n%w5 = OpConstant %u32 5\n%w6 = OpConstant %u32 6\n";

#[test]
fn conversions_go_through_32_bits() {
    let types = format!(
        "{WORDS}
        %double = OpConstant %f64 1.0039062500000002
        %half = OpConstant %f16 0.00109100341796875
        %integer = OpConstant %u32 16842751
        %tie = OpConstant %f32 259
        %huge = OpConstant %f32 0x1.fffffep+127
        %turned = OpConstantComposite %v2b %three %one"
    );
    let body = [
        // 1 + 2^-8 + 2^-52 is rounded to 1 + 2^-8 in 32 bits first, a tie that then goes down to even.
        "%of_double = OpFConvert %bf %double\n",
        &store(0, "%of_double", false),
        // 2^-10 (1 + 30/256): the 30 = 2 * 15 of 256 is 15 of 128.
        "%of_half = OpFConvert %bf %half\n",
        &store(1, "%of_half", false),
        // 2^24 + 65535 is rounded to 2^24 + 65536 in 32 bits, a tie of steps of 131072, down to even.
        "%of_integer = OpConvertUToF %bf %integer\n",
        &store(2, "%of_integer", false),
        // 259 is between 258 and 260 = 65 * 4, and 258 has an odd last bit.
        "%of_tie = OpFConvert %bf %tie\n",
        &store(3, "%of_tie", false),
        "%of_huge = OpFConvert %bf %huge\n",
        &store(4, "%of_huge", false),
        // 3 * 1 + 1 * 3.
        "%pair = OpCompositeConstruct %v2b %one %three\n%dot = OpDot %bf %pair %turned\n%wide = OpFConvert %f32 %dot\n",
        &store(5, "%wide", true),
        "%to_half = OpFConvert %f16 %three\n",
        &store(6, "%to_half", false),
    ]
    .concat();
    let Some(got) = run("conversions_go_through_32_bits", &module(&types, &body)) else { return };
    assert_eq!(got, [0x3f80, 0x3a8f, 0x4b80, 0x4382, 0x7f80, 6f32.to_bits(), 0x4200]);
}

#[test]
fn rounding_is_towards_zero_where_the_shader_says_so() {
    let types = format!("{WORDS}\n%tie = OpConstant %f32 259\n%double = OpConstant %f64 1.00781249");
    let body = [
        "%of_tie = OpFConvert %bf %tie\n",
        &store(0, "%of_tie", false),
        "%of_double = OpFConvert %bf %double\n",
        &store(1, "%of_double", false),
    ]
    .concat();
    let nearest = module(&types, &body);
    let own = nearest.replacen(
        "OpDecorate",
        "OpDecorate %of_tie FPRoundingMode RTZ\nOpDecorate %of_double FPRoundingMode RTZ\nOpDecorate",
        1,
    );
    let mode = nearest.replacen("OpCapability", "OpCapability RoundingModeRTZ\nOpCapability", 1).replacen(
        "OpDecorate",
        "OpExecutionMode %main RoundingModeRTZ 16\nOpDecorate",
        1,
    );
    let test = "rounding_is_towards_zero_where_the_shader_says_so";
    // The double is just below 1 + 2^-7, where a conversion to 32 bits that is rounded to nearest arrives: the mode of 16
    // bits does not concern that one, the decoration both.
    for (source, want) in [(nearest, [0x4382, 0x3f81]), (own, [0x4381, 0x3f80]), (mode, [0x4381, 0x3f81])] {
        let Some(got) = run(test, &source) else { return };
        assert_eq!(got[..2], want);
    }
}

#[test]
fn constants_are_converted_like_other_values() {
    let test = "constants_are_converted_like_other_values";
    // As above: a tie in 32 bits that is one only after rounding to these, and one between 258 and 260.
    let constants = [
        ("%y0 = OpSpecConstantOp %bf FConvert %double", false, 0x3f81, 0x3f81),
        ("%y0 = OpSpecConstantOp %bf FConvert %tie", false, 0x4382, 0x4381),
        ("%y0 = OpSpecConstantOp %f16 FConvert %three", false, 0x4200, 0x4200),
        ("%y0 = OpSpecConstantOp %f32 FConvert %three", true, 0x4040_0000, 0x4040_0000),
    ];
    for (constant, wide, nearest, truncated) in constants {
        let types = format!("{WORDS}\n%tie = OpConstant %f32 259\n%double = OpConstant %f64 1.00781249\n{constant}");
        let source = module(&types, &store(0, "%y0", wide));
        let mode = source.replacen("OpCapability", "OpCapability RoundingModeRTZ\nOpCapability", 1).replacen(
            "OpDecorate",
            "OpExecutionMode %main RoundingModeRTZ 16\nOpDecorate",
            1,
        );
        for (source, want) in [(source, nearest), (mode, truncated)] {
            let Some(got) = run(test, &source) else { return };
            assert_eq!(got[0], want, "{constant}");
        }
    }
}

/// Error message of a module.
fn refusal(test: &str, source: &str, stage: Stage) -> Option<(bool, String)> {
    let module = assemble(test, source)?;
    let error = translate(&module, "main", stage, &[]).expect_err("a refusal");
    Some((matches!(error.kind(), ErrorKind::Malformed(_)), error.to_string()))
}

#[test]
fn what_the_extension_does_not_allow_is_refused() {
    let test = "what_the_extension_does_not_allow_is_refused";
    let bodies = [
        ("%x = OpFAdd %bf %one %three", "OpFAdd does not take bfloat16"),
        ("%x = OpFNegate %bf %one", "OpFNegate does not take bfloat16"),
        ("%x = OpFOrdLessThan %bool %one %three", "OpFOrdLessThan does not take bfloat16"),
        ("%x = OpIsNan %bool %one", "OpIsNan does not take bfloat16"),
        ("%x = OpIAdd %u16 %one %three", "OpIAdd does not take bfloat16"),
        ("%x = OpExtInst %bf %glsl FAbs %one", "OpExtInst does not take bfloat16"),
        ("%c = OpFConvert %f16 %one\n%x = OpExtInst %f16 %glsl Frexp %c %variable", "OpExtInst does not take bfloat16"),
        ("%v = OpCompositeConstruct %v2b %one %three\n%x = OpVectorTimesScalar %v2b %v %one", "does not take bfloat16"),
        ("%x = OpQuantizeToF16 %bf %one", "OpQuantizeToF16 does not take bfloat16"),
        ("%x = OpUConvert %u32 %one", "OpUConvert does not take bfloat16"),
        ("%x = OpGroupNonUniformFAdd %bf %subgroup Reduce %one", "OpGroupNonUniformFAdd does not take bfloat16"),
    ];
    for (body, want) in bodies {
        let source = module("%subgroup = OpConstant %u32 3", body);
        let Some((malformed, text)) = refusal(test, &source, Stage::Compute) else { return };
        assert!(malformed && text.contains(want), "{body}: {text}");
    }
    let constant = module("%x = OpSpecConstantOp %bool IEqual %one %three", "");
    let Some((malformed, text)) = refusal(test, &constant, Stage::Compute) else { return };
    assert!(malformed && text.contains("OpIEqual does not take bfloat16"), "{text}");
    let image = module("%image = OpTypeImage %bf 2D 0 0 0 1 Unknown", "");
    let Some((malformed, text)) = refusal(test, &image, Stage::Compute) else { return };
    assert!(malformed && text.contains("an image of bfloat16"), "{text}");
    let dot = "%v = OpCompositeConstruct %v2b %one %three\n%x = OpDot %bf %v %v";
    let source = module("", dot).replacen("!0x00020011 !5117", "", 1);
    let Some((malformed, text)) = refusal(test, &source, Stage::Compute) else { return };
    assert!(malformed && text.contains("BFloat16DotProductKHR"), "{text}");
    let source = module("", "").replacen("!0x00020011 !5116\n!0x00020011 !5117", "", 1);
    let Some((malformed, text)) = refusal(test, &source, Stage::Compute) else { return };
    assert!(malformed && text.contains("without the capability BFloat16TypeKHR"), "{text}");
}

#[test]
fn stages_do_not_pass_it_on() {
    let source = module("%to_in = OpTypePointer Input %bf\n%in = OpVariable %to_in Input", "%x = OpLoad %bf %in")
        .replace("OpEntryPoint GLCompute %main \"main\" %out", "OpEntryPoint Fragment %main \"main\" %out %in")
        .replace("OpExecutionMode %main LocalSize 1 1 1", "OpExecutionMode %main OriginUpperLeft")
        .replacen("OpDecorate", "OpDecorate %in Location 0\nOpDecorate %in Flat\nOpDecorate", 1);
    let Some((malformed, text)) = refusal("stages_do_not_pass_it_on", &source, Stage::Fragment) else { return };
    assert!(!malformed && text.contains("bfloat16 as stage input or output"), "{text}");
}
