//! Where lanes meet after a call, which is inlined: all that made it together, also if it returned from a loop.

use crate::assembly::assemble;
use crate::invocation::{run_lanes, shader};
use dovetail::target::Stage;

/// A workgroup of 64 that calls `%f` with its index modulo 4 and stores 256 times the lanes that are there after the call,
/// plus the result. `%x` is the argument; the caller's block is the header of a loop if there is `around`.
fn module(f: &str, around: bool) -> String {
    let [before, after] = match around {
        false => ["", ""],
        // The call stands in the header, and the loop is left after one iteration.
        true => [
            "OpBranch %header\n%header = OpLabel",
            "OpLoopMerge %behind %next None\nOpBranchConditional %true %behind %next\n%next = OpLabel\nOpBranch %header\n%behind = OpLabel",
        ],
    };
    format!(
        "OpCapability Shader
        OpCapability GroupNonUniformBallot
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %out %index
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %index BuiltIn LocalInvocationIndex
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %words ArrayStride 4
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 0
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %bool = OpTypeBool
        %u32x4 = OpTypeVector %u32 4
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %n3 = OpConstant %u32 3
        %n256 = OpConstant %u32 256
        %true = OpConstantTrue %bool
        %words = OpTypeRuntimeArray %u32
        %block = OpTypeStruct %words
        %to_block = OpTypePointer StorageBuffer %block
        %to_u32 = OpTypePointer StorageBuffer %u32
        %out = OpVariable %to_block StorageBuffer
        %to_index = OpTypePointer Input %u32
        %index = OpVariable %to_index Input
        %f_type = OpTypeFunction %u32 %u32
        %main = OpFunction %void None %fn
        %start = OpLabel
        %i = OpLoad %u32 %index
        %low = OpBitwiseAnd %u32 %i %n3
        {before}
        %result = OpFunctionCall %u32 %f %low
        %ballot = OpGroupNonUniformBallot %u32x4 %n3 %true
        %count = OpGroupNonUniformBallotBitCount %u32 %n3 Reduce %ballot
        {after}
        %high = OpIMul %u32 %count %n256
        %both = OpIAdd %u32 %high %result
        %word = OpAccessChain %to_u32 %out %n0 %i
        OpStore %word %both
        OpReturn
        OpFunctionEnd
        %f = OpFunction %u32 None %f_type
        %x = OpFunctionParameter %u32
        {f}
        OpFunctionEnd"
    )
}

/// A loop that counts up to `%x`; `found` says what happens then.
fn counting(found: &str) -> String {
    format!(
        "%f0 = OpLabel
        OpBranch %f1
        %f1 = OpLabel
        %k = OpPhi %u32 %n0 %f0 %k1 %f3
        %same = OpIEqual %bool %k %x
        OpLoopMerge %f4 %f3 None
        OpBranchConditional %same %f2 %f3
        %f2 = OpLabel
        {found}
        %f3 = OpLabel
        %k1 = OpIAdd %u32 %k %n1
        OpBranch %f1
        %f4 = OpLabel"
    )
}

#[test]
fn lanes_meet_after_a_call_that_returns_from_a_loop() {
    // One return, and nothing is behind the loop; two returns in it; one in it and one behind it.
    let one = format!("{} OpUnreachable", counting("OpReturnValue %k"));
    let two = counting(
        "%odd = OpIEqual %bool %x %n1 OpSelectionMerge %f7 None OpBranchConditional %odd %f5 %f6
        %f5 = OpLabel OpReturnValue %n1 %f6 = OpLabel OpReturnValue %k %f7 = OpLabel OpUnreachable",
    );
    let two = format!("{two} OpUnreachable");
    let both = counting(
        "%odd = OpIEqual %bool %x %n1 OpSelectionMerge %f6 None OpBranchConditional %odd %f5 %f6
        %f5 = OpLabel OpReturnValue %n1 %f6 = OpLabel OpBranch %f4",
    );
    let both = format!("{both} OpReturnValue %x");
    for (f, around) in [&one, &two, &both].into_iter().flat_map(|f| [(f, false), (f, true)]) {
        let Some(module) = assemble("lanes_meet_after_a_call", &module(f, around)) else { return };
        let ir = shader(&module, Stage::Compute, &[]);
        for lanes in [32, 64] {
            let wanted: Vec<u32> = (0..64).map(|i| 256 * lanes + i % 4).collect();
            assert_eq!(run_lanes(&ir, &[(0, vec![0; 64])], lanes).0, wanted, "{lanes} lanes, {around}: {f}");
        }
    }
}
