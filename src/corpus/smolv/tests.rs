//! An encoder, written from the same description, and modules encoded by it.

use super::*;
use crate::scan::tests::{stored, tiny};
use crate::scan::{ByteOrder, Words, instruction};
use proptest::prelude::*;

fn varint(out: &mut Vec<u8>, mut value: u32) {
    while value > 127 {
        out.push(u8::try_from(value & 127).unwrap() | 128);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
}

fn signed(out: &mut Vec<u8>, value: u32) {
    varint(out, value << 1 ^ 0u32.wrapping_sub(value >> 31));
}

/// A module in version `encoding`. Member decorations are written one by one, which the format allows.
pub(crate) fn encode(module: &[u8], encoding: u32) -> Vec<u8> {
    let words = Words { bytes: module, order: ByteOrder::Little };
    let all: Vec<u32> = module.chunks_exact(4).map(word).collect();
    let mut out = SMOLV.to_vec();
    let size = u32::try_from(module.len()).unwrap();
    for word in [encoding << 24 | all[1], all[2], all[3], all[4], size] {
        out.extend(word.to_le_bytes());
    }
    let (mut at, mut result, mut target) = (5, 0u32, 0u32);
    while let Some((op, count)) = instruction(&words, at) {
        let (mut op, mut rest) = (u32::from(op), &all[at + 1..at + count]);
        at += count;
        let short = op == OP_VECTOR_SHUFFLE && count <= 9 && rest[4..].iter().all(|&c| c < 4);
        if short {
            op = OP_SHORT_SHUFFLE;
        }
        let least = [(79, 5), (13, 5), (71, 3), (61, 4), (65, 4)].iter().find(|p| p.0 == op).map_or(1, |p| p.1);
        let (length, code) = (u32::try_from(count).unwrap() - least, swapped(op));
        varint(&mut out, length >> 4 << 20 | code >> 4 << 8 | (length & 15) << 4 | code & 15);
        let shape = Shape::of(op, if encoding == 0 { 331 } else { 367 });
        if op == OP_MEMBER_DECORATE {
            signed(&mut out, rest[0].wrapping_sub(target));
            target = rest[0];
            out.push(1);
            varint(&mut out, rest[1]);
            varint(&mut out, rest[2]);
            if !matches!(rest[2], 0 | 2..=5 | 29..=37) {
                varint(&mut out, u32::try_from(count - 4).unwrap());
            }
            rest[3..].iter().for_each(|&word| varint(&mut out, word));
            continue;
        }
        if shape.typed {
            varint(&mut out, rest[0]);
            rest = &rest[1..];
        }
        if shape.result {
            signed(&mut out, rest[0].wrapping_sub(result));
            (result, rest) = (rest[0], &rest[1..]);
        }
        if op == OP_DECORATE {
            signed(&mut out, rest[0].wrapping_sub(target));
            (target, rest) = (rest[0], &rest[1..]);
        }
        let (ids, rest) = rest.split_at(rest.len().min(shape.ids as usize));
        ids.iter().for_each(|&id| signed(&mut out, result.wrapping_sub(id)));
        if short {
            let byte = rest.iter().enumerate().map(|(n, c)| c << (6 - 2 * n)).sum::<u32>();
            out.push(u8::try_from(byte).unwrap());
        } else {
            for &word in rest {
                if shape.varints { varint(&mut out, word) } else { out.extend(word.to_le_bytes()) }
            }
        }
    }
    out
}

fn decoded(file: &[u8], budget: &mut Budget) -> Vec<(Range<usize>, Vec<u8>)> {
    let mut found = Vec::new();
    modules(file, budget, &mut |range, module, _| found.push((range, module)));
    found
}

/// A module with one instruction of every shape before its function.
fn varied() -> Vec<u8> {
    let mut words = tiny(3);
    let functions = words.len() - 9;
    let more = [
        [4 << 16 | 71, 6, 30, 70_000].as_slice(),
        &[3 << 16 | 71, 5, 2],
        &[5 << 16 | 72, 9, 0, 35, 0],
        &[5 << 16 | 72, 9, 1, 35, 160],
        &[4 << 16 | 72, 9, 1, 4],
        &[5 << 16 | 72, 9, 1, 1000, 77],
        &[7 << 16 | 79, 1, 20, 3, 2, 3, 1],
        &[7 << 16 | 79, 1, 19, 3, 30, 3, 5],
        &[5 << 16 | 44, 1, 21, 40, 2],
        &[4 << 16 | 43, 1, 22, 0xffff_ffff],
        &[5 << 16 | 349, 1, 23, 3, 0],
        &[3 << 16 | 5000, 0xdead_beef, 1],
    ];
    words.splice(functions..functions, more.concat());
    stored(&words, ByteOrder::Little)
}

#[test]
fn bytes_of_the_description() {
    // Header; OpCapability Shader: opcode 17 with length 2 is 0x111; OpDecorate %6 Block: 0x00, zigzag 6, varint 2.
    let mut file = b"LOMS\0\x03\x01\0\0\0\0\0\x08\0\0\0\0\0\0\0".to_vec();
    file.extend([40, 0, 0, 0, 0x91, 0x02, 1, 0x00, 12, 2]);
    let words = [MAGIC, 0x0001_0300, 0, 8, 0, 2 << 16 | 17, 1, 3 << 16 | 71, 6, 2];
    let expected = stored(&words, ByteOrder::Little);
    assert_eq!(decoded(&file, &mut Budget::default()), [(0..file.len(), expected)]);
}

#[test]
fn every_shape_comes_back_from_between_other_bytes() {
    let module = varied();
    for encoding in [0, 1] {
        let packed = encode(&module, encoding);
        assert!(packed.len() < module.len());
        let file = [&[0xff; 7][..], &packed, b"LOMS", &packed, &[0xff; 9]].concat();
        let first = 7..7 + packed.len();
        let second = first.end + 4..first.end + 4 + packed.len();
        let expected = [(first, module.clone()), (second, module.clone())];
        let mut budget = Budget::default();
        assert_eq!(decoded(&file, &mut budget), expected);
        assert_eq!(budget.memory, Budget::default().memory);
    }
}

/// The file is also a seed of the fuzzer, which has no encoder.
#[test]
fn a_kept_file_is_what_it_was_made_of() {
    let testdata = dovetail_testing::root().join("testdata");
    let module = std::fs::read(testdata.join("spirv/mixed_dot.spvasm.spv")).unwrap();
    let packed = std::fs::read(testdata.join("corpus/mixed_dot.smolv")).unwrap();
    assert_eq!(packed, encode(&module, 1));
    assert_eq!(decoded(&packed, &mut Budget::default()), [(0..packed.len(), module)]);
}

#[test]
fn a_size_that_is_a_lie_is_no_module_and_costs_nothing() {
    for size in [0u32, 20, 24, 1 << 20, !3] {
        let mut packed = encode(&varied(), 0);
        packed[20..24].copy_from_slice(&size.to_le_bytes());
        assert_eq!(decoded(&packed, &mut Budget::new(1 << 16)), [], "{size}");
    }
}

proptest! {
    #[test]
    fn damage_is_survived(at in 0usize..500, with in any::<u8>(), cut in 0usize..500) {
        let mut packed = encode(&varied(), 1);
        let len = packed.len();
        packed[at % len] = with;
        packed.truncate(cut.max(24));
        decoded(&packed, &mut Budget::default());
    }
}
