//! The expansions of lowering give the interpreter's result of the whole operation.

use crate::compile::passes::{lower_arithmetic, lower_atomics, lower_barriers};
use crate::ir::interp::{Memory, Options, World, dispatch};
use crate::ir::parse::parse;
use crate::ir::verify::verify;
use crate::ir::{
    Access, Align, AluOp, Bits, Builder, DescriptorPart, FpFlags, Op, Resource, ResourceId, ResourceKind, Shader, Sig,
    Terminator, Type,
};
use crate::target::{Stage, WaveSize};

/// Runs one workgroup on a buffer of this many bytes.
fn run(shader: &Shader, bytes: usize) -> Vec<u8> {
    verify(shader).unwrap();
    let mut world = World::default();
    world.buffers.insert((0, 0, 0), Memory::new(vec![0; bytes]));
    dispatch(shader, &mut world, [1; 3], Options { limit: 1 << 20, subgroup_size: 32, ..Options::default() }).unwrap();
    world.buffers[&(0, 0, 0)].bytes().to_vec()
}

/// A shader that stores the result of an operation for each of these operands, eight bytes apart.
fn each(op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]]) -> Shader {
    let mut shader = Shader::new("main", Stage::Compute);
    shader.modes.local_size = [1; 3];
    let kind = ResourceKind::StorageBuffer;
    shader.resources.push(Resource { name: "out".into(), set: 0, binding: 0, kind, count: Some(1), written: true });
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let zero = b.c32(0);
    let descriptor = Op::Descriptor { resource: ResourceId(0), part: DescriptorPart::Buffer, non_uniform: false };
    let descriptor = b.value(descriptor, &[zero], Type::DESC4);
    for (n, case) in (0..).zip(cases) {
        let operand = |k: usize| if op.sig() == Sig::FirstSame && k > 0 { Type::B32 } else { Type::scalar(bits) };
        let args: Vec<_> = (0..op.arity()).map(|k| b.iconst(operand(k), case[k])).collect();
        let made = b.value(Op::Alu(op, FpFlags::NONE), &args, to);
        let made = if to == Type::B1 { b.convert(AluOp::ZExt, made, Type::B32) } else { made };
        let at = b.c32(8 * n);
        b.effect(Op::BufferStore { align: Align::A8, access: Access::default() }, &[descriptor, at, made]);
    }
    b.terminate(Terminator::Return(Vec::new()));
    shader
}

/// Integers at the limits of this width.
fn integers(bits: Bits) -> Vec<u64> {
    let mask = bits.mask();
    let some = [0, 1, 2, 3, 7, 0x55, 0x80, 0xff, 0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210, 0xffff_ffff, 1 << 32];
    let edges = [mask, mask - 1, mask - 6, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2];
    some.iter().map(|n| n & mask).chain(edges).collect()
}

/// Floats of every class but NaN that the width has.
fn floats(bits: Bits) -> Vec<u64> {
    let some = [0.0, 1.0, 1.5, 0.1, 3e-5, 6.2e-5, 1e-7, 2049.0, 65504.0, 65519.0, 65520.0, 1e6, 1e39, f64::INFINITY];
    let third = 1.0 / 3.0 + 1e-12;
    some.into_iter().chain([third]).flat_map(|x| [x, -x]).map(|x| crate::ir::number::encode(x, bits)).collect()
}

#[track_caller]
fn same(op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]]) {
    assert!(!cases.is_empty());
    let whole = each(op, bits, to, cases);
    let mut lowered = whole.clone();
    lower_arithmetic::run(&mut lowered, WaveSize::W32).unwrap();
    assert_ne!(whole.insts.len(), lowered.insts.len(), "{} of {bits:?} stays", op.name());
    let [want, got] = [&whole, &lowered].map(|shader| run(shader, 8 * cases.len()));
    for (n, case) in cases.iter().enumerate() {
        let at = 8 * n..8 * n + 8;
        assert_eq!(got[at.clone()], want[at], "{} of {bits:?}: {case:x?}", op.name());
    }
}

#[test]
fn integers_in_steps_are_the_same() {
    use AluOp as A;
    for bits in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        let ty = Type::scalar(bits);
        let numbers = integers(bits);
        let minimum = (bits.mask() >> 1) + 1;
        let pairs: Vec<[u64; 3]> = numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| [x, y, 0])).collect();
        let defined: Vec<_> =
            pairs.iter().copied().filter(|&[x, y, _]| y != 0 && !(x == minimum && y == bits.mask())).collect();
        same(A::SMod, bits, ty, &defined);
        same(A::FindSMsb, bits, Type::B32, &pairs);
        if bits != Bits::B32 {
            same(A::UMulHigh, bits, ty, &pairs);
            same(A::SMulHigh, bits, ty, &pairs);
        }
        let width = u64::from(bits.count());
        let fields = |x: u64| {
            let counts = [0, 1, 3, width / 2, width - 1, width];
            counts.into_iter().flat_map(move |n| [0, 1, width - n].map(move |at| [x, at, n]))
        };
        let inside = |&[_, at, n]: &[u64; 3]| at + n <= width && at < width;
        let fields: Vec<_> = numbers.iter().copied().flat_map(fields).filter(inside).collect();
        same(A::UBitExtract, bits, ty, &fields);
        same(A::SBitExtract, bits, ty, &fields);
    }
}

#[test]
fn floats_in_steps_are_the_same() {
    use AluOp as A;
    for bits in [Bits::B16, Bits::B32, Bits::B64] {
        let ty = Type::scalar(bits);
        let numbers: Vec<_> = floats(bits).into_iter().map(|x| [x, 0, 0]).collect();
        let nan = [crate::ir::number::encode(f64::NAN, bits), 0, 0];
        let and_nan: Vec<_> = numbers.iter().copied().chain([nan]).collect();
        same(A::FSign, bits, ty, &numbers);
        same(A::FIsNan, bits, Type::B1, &and_nan);
        same(A::FIsInf, bits, Type::B1, &and_nan);
        if bits != Bits::B64 {
            same(A::FQuantize16, bits, ty, &numbers);
        }
        for to in [Bits::B16, Bits::B32].into_iter().filter(|to| *to < bits) {
            same(A::FConvRtz, bits, Type::scalar(to), &numbers);
        }
    }
}

#[test]
fn what_the_rules_forbid_is_lowered() {
    for &op in AluOp::ALL {
        for bits in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
            let float = matches!(op.sig(), Sig::Convert) || op.takes_float();
            if op.has_instruction(bits) || float && bits == Bits::B8 || op.sig() == Sig::All32 {
                continue;
            }
            let to = match op.sig() {
                Sig::Compare => Type::B1,
                Sig::ToB32 => Type::B32,
                Sig::Convert => Type::B16,
                _ => Type::scalar(bits),
            };
            let mut shader = each(op, bits, to, &[[0; 3]]);
            if lower_arithmetic::run(&mut shader, WaveSize::W32).is_ok() {
                let left = |inst: &&crate::ir::Inst| match inst.op {
                    Op::Alu(op, _) => !op.has_instruction(shader.ty(inst.args[0]).bits()),
                    _ => false,
                };
                assert!(shader.live_insts().find(left).is_none(), "{} of {bits:?}", op.name());
            }
        }
    }
}

#[test]
fn a_loop_adds_for_every_invocation() {
    let text = "shader upper compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\n\
        res0 \"out\" set0 binding0 storage_buffer count1 written\nblock0:\n\
        v0: b32 = const 0x0\n v1: b32 = const 0x4\n v2: b32 = const 0x3f800000\n\
        v3: b32x4 = descriptor[res0 buffer] v0\n v4: b32 = buffer_atomic[fadd] v3, v0, v2\n\
        barrier[workgroup workgroup acq_rel buffer]\n buffer_atomic[store] v3, v1, v4\n return\n";
    let whole = parse(text).unwrap();
    let mut lowered = whole.clone();
    lower_barriers::run(&mut lowered, WaveSize::W32).unwrap();
    lower_atomics::run(&mut lowered, WaveSize::W32).unwrap();
    assert_eq!(lowered.blocks.len(), 3);
    let bytes = run(&lowered, 8);
    assert_eq!(bytes, run(&whole, 8));
    assert_eq!(bytes[..4], 64f32.to_le_bytes());
}
