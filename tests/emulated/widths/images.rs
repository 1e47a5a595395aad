//! Operands of image instructions in integers of every width: coordinates, levels, offsets.

use super::number::Num::{self, S, U};
use super::number::{WIDTHS, signed};
use crate::everywhere::{assembled, run, storage};
use dovetail::emu::inputs::{BindingElement, Bound, Image, InputBytes, Inputs, Texels, ViewShape};

/// Texels of the buffer: more than 15 bits number.
const TEXELS: u32 = 40_000;

/// A shader of one invocation that reads `%x`, a number of a type, from a buffer and writes the word `%r`.
fn source(ty: Num, constant: u64, body: &str) -> String {
    let bits = ty.bits();
    let narrow =
        if bits == 64 { "%y = OpCopyObject %u64 %word".to_owned() } else { format!("%y = OpUConvert %u{bits} %word") };
    let literal = match ty {
        S(bits) => signed(constant, bits).to_string(),
        _ => constant.to_string(),
    };
    format!(
        "OpCapability Shader
        OpCapability Int8
        OpCapability Int16
        OpCapability Int64
        OpCapability SampledBuffer
        OpCapability ImageBuffer
        OpCapability ImageGatherExtended
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %in %out %texels %stored %texture
        OpExecutionMode %main LocalSize 1 1 1
        OpDecorate %in_block Block
        OpMemberDecorate %in_block 0 Offset 0
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %in DescriptorSet 0
        OpDecorate %in Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        OpDecorate %texels DescriptorSet 0
        OpDecorate %texels Binding 2
        OpDecorate %stored DescriptorSet 0
        OpDecorate %stored Binding 3
        OpDecorate %texture DescriptorSet 0
        OpDecorate %texture Binding 4
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u8 = OpTypeInt 8 0
        %i8 = OpTypeInt 8 1
        %u16 = OpTypeInt 16 0
        %i16 = OpTypeInt 16 1
        %u32 = OpTypeInt 32 0
        %i32 = OpTypeInt 32 1
        %u64 = OpTypeInt 64 0
        %i64 = OpTypeInt 64 1
        %ty = OpTypeVector {id} 2
        %u4 = OpTypeVector %u32 4
        %i2 = OpTypeVector %i32 2
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %i0 = OpConstant %i32 0
        %i4 = OpConstant %i32 4
        %middle = OpConstantComposite %i2 %i4 %i0
        %constant = OpConstant {id} {literal}
        %zero = OpConstant {id} 0
        %offset = OpConstantComposite %ty %constant %zero
        %in_block = OpTypeStruct %u64
        %block = OpTypeStruct %u32
        %t_texels = OpTypeImage %u32 Buffer 0 0 0 1 Unknown
        %t_stored = OpTypeImage %u32 Buffer 0 0 0 2 R32ui
        %t_texture = OpTypeImage %u32 2D 0 0 0 1 Unknown
        %p_in = OpTypePointer StorageBuffer %in_block
        %p_out = OpTypePointer StorageBuffer %block
        %p_wide = OpTypePointer StorageBuffer %u64
        %p_word = OpTypePointer StorageBuffer %u32
        %p_texels = OpTypePointer UniformConstant %t_texels
        %p_stored = OpTypePointer UniformConstant %t_stored
        %p_texture = OpTypePointer UniformConstant %t_texture
        %p_texel = OpTypePointer Image %u32
        %in = OpVariable %p_in StorageBuffer
        %out = OpVariable %p_out StorageBuffer
        %texels = OpVariable %p_texels UniformConstant
        %stored = OpVariable %p_stored UniformConstant
        %texture = OpVariable %p_texture UniformConstant
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %from = OpAccessChain %p_wide %in %n0
        %word = OpLoad %u64 %from
        {narrow}
        %x = OpBitcast {id} %y
        %l = OpLoad %t_texels %texels
        %s = OpLoad %t_stored %stored
        %t = OpLoad %t_texture %texture
        {body}
        %to = OpAccessChain %p_word %out %n0
        OpStore %to %r
        OpReturn
        OpFunctionEnd",
        id = ty.id(),
    )
    .replace(&format!("%x = OpBitcast %u{bits} %y"), &format!("%x = OpCopyObject %u{bits} %y"))
}

/// Texel n of a buffer is n + 1. Level n of the texture, 16 texels wide at first, has 100 n + 1 and the number of its column.
fn inputs(x: u64) -> Inputs {
    let words = |words: Vec<u32>| InputBytes(words.iter().flat_map(|w| w.to_le_bytes()).collect());
    let texels = || Texels { format: "R32_UINT".to_owned(), data: words((1..=TEXELS).collect()) };
    let texture = Image {
        format: "R32_UINT".to_owned(),
        shape: ViewShape::D2,
        extent: [16, 1, 1],
        layers: 1,
        arrayed: false,
        levels: 5,
        samples: 1,
        swizzle: Default::default(),
        data: words((0..5u32).flat_map(|l| (0..16 >> l).map(move |x| 100 * l + 1 + x)).collect()),
    };
    let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
    let bindings = vec![
        storage(0, x.to_le_bytes().to_vec()),
        storage(1, vec![0; 4]),
        bind(2, Bound::UniformTexelBuffer(texels())),
        bind(3, Bound::StorageTexelBuffer(texels())),
        bind(4, Bound::SampledImage(texture)),
    ];
    Inputs { bindings, grid: [1; 3], ..Default::default() }
}

/// The coordinates of one type: in range, and so far out of it that their lower half is not.
fn coordinates(ty: Num) -> Vec<u64> {
    let mut all = vec![0, 3, 100];
    match ty {
        U(8) => all.push(200),
        U(16) => all.push(u64::from(TEXELS) - 1),
        S(16) => all.push(0x7fff),
        U(64) => all.extend([1 << 32, (1 << 40) + 5]),
        S(64) => all.extend([1 << 32, (-(1i64 << 32) + 5) as u64]),
        _ => {}
    }
    all
}

#[test]
fn image_operands_have_any_width() {
    let test = "widths::images::image_operands_have_any_width";
    let mut wrong = Vec::new();
    let mut expect = |name: &str, ty: Num, x: u64, body: &str, expected: u32| {
        let module = assembled(test, &source(ty, x, body))?;
        match run(&module, &inputs(x)) {
            Ok(all) => wrong.extend(all.iter().filter(|left| left.bindings[1] != expected.to_le_bytes()).map(|left| {
                format!("{name}, {ty:?} {x:#x}, {}: {:?}, expected {expected}", left.way, left.bindings[1])
            })),
            Err(why) => wrong.push(format!("{name}, {ty:?} {x:#x}: {why}")),
        }
        Some(())
    };
    let first = "\n%r = OpCompositeExtract %u32 %v 0";
    for width in WIDTHS {
        for ty in [U(width), S(width)] {
            for x in coordinates(ty) {
                let texel = if x < u64::from(TEXELS) { x as u32 + 1 } else { 0 };
                for (name, body) in [
                    ("fetch", format!("%v = OpImageFetch %u4 %l %x{first}")),
                    ("read", format!("%v = OpImageRead %u4 %s %x{first}")),
                ] {
                    if expect(name, ty, x, &body, texel).is_none() {
                        return;
                    }
                }
                let atomic = "%q = OpImageTexelPointer %p_texel %stored %x %n0\n%r = OpAtomicIAdd %u32 %q %n1 %n0 %n0";
                let _ = expect("atomic", ty, x, atomic, texel);
            }
            for level in 0..2 {
                let body = format!("%v = OpImageFetch %u4 %t %middle Lod %x{first}");
                let _ = expect("level", ty, level, &body, 100 * level as u32 + 5);
            }
            for (offset, column) in [(3u64, 7u32), (0u64.wrapping_sub(2), 2)] {
                if column == 2 && ty == U(width) {
                    continue;
                }
                let body = format!("%v = OpImageFetch %u4 %t %middle Lod|ConstOffset %n0 %offset{first}");
                let _ = expect("constant offset", ty, offset & ty.mask(), &body, 1 + column);
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
