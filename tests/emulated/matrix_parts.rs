//! Pointers to a matrix, to a column and to a component of one, as values: the strides of the matrix go with them.

use crate::everywhere::{assembled, run, storage};
use dovetail::emu::inputs::Inputs;

/// Lanes, each of which takes its own column, row and matrix.
const LANES: usize = 12;

/// A shader over two matrices of three columns and four rows, that writes the number `%r` of each lane.
fn source(major: &str, stride: u32, body: &str) -> String {
    format!(
        "OpCapability Shader
        OpCapability VariablePointersStorageBuffer
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %id %in %out
        OpExecutionMode %main LocalSize {LANES} 1 1
        OpDecorate %id BuiltIn LocalInvocationIndex
        OpDecorate %words ArrayStride 4
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %in_block Block
        OpMemberDecorate %in_block 0 Offset 0
        OpMemberDecorate %in_block 0 {major}
        OpMemberDecorate %in_block 0 MatrixStride {stride}
        OpDecorate %two ArrayStride 64
        OpDecorate %in DescriptorSet 0
        OpDecorate %in Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %u32 = OpTypeInt 32 0
        %f32 = OpTypeFloat 32
        %v4 = OpTypeVector %f32 4
        %mat = OpTypeMatrix %v4 3
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %n2 = OpConstant %u32 2
        %n3 = OpConstant %u32 3
        %two = OpTypeArray %mat %n2
        %in_block = OpTypeStruct %two
        %words = OpTypeRuntimeArray %f32
        %block = OpTypeStruct %words
        %p_in = OpTypePointer StorageBuffer %in_block
        %p_out = OpTypePointer StorageBuffer %block
        %p_mat = OpTypePointer StorageBuffer %mat
        %p_col = OpTypePointer StorageBuffer %v4
        %p_one = OpTypePointer StorageBuffer %f32
        %l_mat = OpTypePointer Function %p_mat
        %l_col = OpTypePointer Function %p_col
        %p_id = OpTypePointer Input %u32
        %id = OpVariable %p_id Input
        %in = OpVariable %p_in StorageBuffer
        %out = OpVariable %p_out StorageBuffer
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %kept_mat = OpVariable %l_mat Function
        %kept_col = OpVariable %l_col Function
        %i = OpLoad %u32 %id
        %col = OpUMod %u32 %i %n3
        %row = OpBitwiseAnd %u32 %i %n3
        %which = OpBitwiseAnd %u32 %i %n1
        %second = OpIEqual %bool %which %n1
        {body}
        %to = OpAccessChain %p_one %out %n0 %i
        OpStore %to %r
        OpReturn
        OpFunctionEnd"
    )
}

const BODIES: [(&str, &str); 6] = [
    (
        "a matrix in a variable",
        "%p = OpAccessChain %p_mat %in %n0 %which
        OpStore %kept_mat %p
        %q = OpLoad %p_mat %kept_mat
        %c = OpAccessChain %p_one %q %col %row
        %r = OpLoad %f32 %c",
    ),
    (
        "a whole matrix in a variable",
        "%p = OpAccessChain %p_mat %in %n0 %which
        OpStore %kept_mat %p
        %q = OpLoad %p_mat %kept_mat
        %m = OpLoad %mat %q
        %m0 = OpCompositeExtract %v4 %m 0
        %m1 = OpCompositeExtract %v4 %m 1
        %m2 = OpCompositeExtract %v4 %m 2
        %is0 = OpIEqual %bool %col %n0
        %is1 = OpIEqual %bool %col %n1
        %m12 = OpSelect %v4 %is1 %m1 %m2
        %v = OpSelect %v4 %is0 %m0 %m12
        %r = OpVectorExtractDynamic %f32 %v %row",
    ),
    (
        "a selected matrix",
        "%p0 = OpAccessChain %p_mat %in %n0 %n0
        %p1 = OpAccessChain %p_mat %in %n0 %n1
        %q = OpSelect %p_mat %second %p1 %p0
        %c = OpAccessChain %p_one %q %col %row
        %r = OpLoad %f32 %c",
    ),
    (
        "a column in a variable",
        "%p = OpAccessChain %p_col %in %n0 %which %col
        OpStore %kept_col %p
        %q = OpLoad %p_col %kept_col
        %c = OpAccessChain %p_one %q %row
        %r = OpLoad %f32 %c",
    ),
    (
        "a whole column by a phi",
        "%p0 = OpAccessChain %p_col %in %n0 %n0 %col
        OpSelectionMerge %joined None
        OpBranchConditional %second %then %joined
        %then = OpLabel
        %p1 = OpAccessChain %p_col %in %n0 %n1 %col
        OpBranch %joined
        %joined = OpLabel
        %q = OpPhi %p_col %p0 %entry %p1 %then
        %v = OpLoad %v4 %q
        %r = OpVectorExtractDynamic %f32 %v %row",
    ),
    (
        "a component by a phi",
        "%p0 = OpAccessChain %p_one %in %n0 %n0 %col %row
        OpSelectionMerge %joined None
        OpBranchConditional %second %then %joined
        %then = OpLabel
        %p1 = OpAccessChain %p_one %in %n0 %n1 %col %row
        OpBranch %joined
        %joined = OpLabel
        %q = OpPhi %p_one %p0 %entry %p1 %then
        %r = OpLoad %f32 %q",
    ),
];

#[test]
fn the_strides_go_with_the_pointer() {
    let test = "matrix_parts::the_strides_go_with_the_pointer";
    let mut wrong = Vec::new();
    // Bytes from one column, and from one component of a column, to the next.
    for (major, stride, [by_column, by_row]) in [("ColMajor", 16, [16, 4]), ("RowMajor", 16, [4, 16])] {
        let words: Vec<u8> = (0..32).flat_map(|n| (n as f32).to_le_bytes()).collect();
        let expected: Vec<f32> =
            (0..LANES).map(|i| ((i % 2) * 64 + (i % 3) * by_column + (i % 4) * by_row) as f32 / 4.0).collect();
        for (name, body) in BODIES {
            let Some(module) = assembled(test, &source(major, stride, body)) else { return };
            let bindings = vec![storage(0, words.clone()), storage(1, vec![0; 4 * LANES])];
            let inputs = Inputs { bindings, grid: [1; 3], ..Default::default() };
            match run(&module, &inputs) {
                Ok(all) => wrong.extend(all.iter().filter_map(|left| {
                    let found: Vec<f32> =
                        left.bindings[1].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
                    (found != expected).then(|| format!("{major}, {name}, {}: {found:?}", left.way))
                })),
                Err(why) => wrong.push(format!("{major}, {name}: {why}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
