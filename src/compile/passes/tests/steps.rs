//! Checks that the expansions of lowering give the interpreter's result for the whole operation.

use crate::{lower_arithmetic, lower_atomics, lower_barriers};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_interp::{Options, ShadowedMemory, World, dispatch};
use dovetail_ir::parse::parse;
use dovetail_ir::verify::verify;
use dovetail_ir::{
    Access, Align, AluOp, Bits, Builder, ConstTable, ConstTableId, DescriptorPart, FpFlags, Op, Resource, ResourceId,
    ResourceKind, Shader, Sig, Terminator, Type,
};

/// Runs one workgroup on a buffer of this many bytes.
fn run(shader: &Shader, bytes: usize) -> Vec<u8> {
    verify(shader).unwrap();
    let mut world = World::default();
    world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0; bytes]));
    dispatch(shader, &mut world, [1; 3], Options { limit: 1 << 20, subgroup_size: 32, ..Options::default() }).unwrap();
    world.buffers[&(0, 0, 0)].bytes().to_vec()
}

/// The origin of an operation's operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Constant,
    /// The first operand is loaded, the second is a constant.
    ConstantSecond,
    Loaded,
}

/// A shader that stores the result of an operation for each of these cases, eight bytes apart.
fn each(op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]], operands: Operands) -> Shader {
    let mut shader = Shader::new("main", Stage::Compute);
    let bytes = cases.iter().flatten().flat_map(|n| n.to_le_bytes()).collect();
    shader.tables.push(ConstTable { bytes, align: Align::A8 });
    shader.modes.local_size = [1; 3];
    let kind = ResourceKind::StorageBuffer;
    shader.resources.push(Resource { name: "out".into(), set: 0, binding: 0, kind, count: Some(1), written: true });
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let zero = b.c32(0);
    let descriptor = Op::Descriptor { resource: ResourceId(0), part: DescriptorPart::Buffer, non_uniform: false };
    let descriptor = b.value(descriptor, &[zero], Type::DESC4);
    for (n, case) in (0..).zip(cases) {
        let operand = |k: usize| if op.sig() == Sig::FirstSame && k > 0 { Type::B32 } else { Type::scalar(bits) };
        let mut arg = |k: usize| {
            if operands == Operands::Constant || k > 0 && operands == Operands::ConstantSecond {
                return b.iconst(operand(k), case[k]);
            }
            let at = b.c32(24 * n + 8 * k as u32);
            b.value(Op::ConstLoad { table: ConstTableId(0), align: Align::A8 }, &[at], operand(k))
        };
        let args: Vec<_> = (0..op.arity()).map(&mut arg).collect();
        let made = b.value(Op::Alu(op, FpFlags::NONE), &args, to);
        let made = if to == Type::B1 { b.convert(AluOp::ZExt, made, Type::B32) } else { made };
        let at = b.c32(8 * n);
        b.effect(Op::BufferStore { align: Align::A8, access: Access::default() }, &[descriptor, at, made]);
    }
    b.terminate(Terminator::Return(&[]));
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
    some.into_iter().chain([third]).flat_map(|x| [x, -x]).map(|x| dovetail_ir::number::encode(x, bits)).collect()
}

/// The results of the whole operation, and of its expansion.
#[track_caller]
fn both(op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]], operands: Operands) -> [Vec<u8>; 2] {
    assert!(!cases.is_empty());
    let whole = each(op, bits, to, cases, operands);
    let mut lowered = whole.clone();
    lower_arithmetic::run(&mut lowered, WaveSize::W32).unwrap();
    assert_ne!(whole.insts.len(), lowered.insts.len(), "{} of {bits:?} stays", op.name());
    [&whole, &lowered].map(|shader| run(shader, 8 * cases.len()))
}

#[track_caller]
fn same_from(operands: Operands, op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]]) {
    let [want, got] = both(op, bits, to, cases, operands);
    for (n, case) in cases.iter().enumerate() {
        let at = 8 * n..8 * n + 8;
        assert_eq!(got[at.clone()], want[at], "{} of {bits:?} to {to}: {case:x?}", op.name());
    }
}

#[track_caller]
fn same(op: AluOp, bits: Bits, to: Type, cases: &[[u64; 3]]) {
    same_from(Operands::Constant, op, bits, to, cases);
    same_from(Operands::Loaded, op, bits, to, cases);
}

/// Numbers of every magnitude, the same in every run.
fn spread(count: usize, bits: Bits) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 1 ^ state >> 33
    };
    (0..count).map(|_| next() >> (next() % u64::from(bits.count())) & bits.mask()).collect()
}

#[test]
fn integers_in_steps_are_the_same() {
    use AluOp as A;
    for bits in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        let ty = Type::scalar(bits);
        let numbers = integers(bits);
        let pairs: Vec<[u64; 3]> = numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| [x, y, 0])).collect();
        same(A::FindSMsb, bits, Type::B32, &pairs);
        if bits != Bits::B32 {
            for op in [A::UMulHigh, A::SMulHigh, A::BitReverse] {
                same(op, bits, ty, &pairs);
            }
            for op in [A::BitCount, A::FindILsb, A::FindUMsb] {
                same(op, bits, Type::B32, &pairs);
            }
            for op in [A::UAddCarry, A::USubBorrow] {
                same(op, bits, Type::B1, &pairs);
            }
        }
        if matches!(bits, Bits::B8 | Bits::B64) {
            for op in [A::INeg, A::IAbs, A::UMin, A::UMax, A::SMin, A::SMax] {
                same(op, bits, ty, &pairs);
            }
            for op in [A::UAddSat, A::SAddSat, A::USubSat, A::SSubSat] {
                same(op, bits, ty, &pairs);
            }
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
fn small_integers_in_steps_are_the_same() {
    use AluOp as A;
    let numbers = integers(Bits::B8);
    let pairs: Vec<[u64; 3]> = numbers.iter().flat_map(|&x| (0..8).map(move |y| [x, y, 0])).collect();
    for op in [A::Shl, A::LShr, A::AShr] {
        same(op, Bits::B8, Type::B8, &pairs);
    }
    for op in [A::IEq, A::INe, A::ULt, A::ULe, A::UGt, A::UGe, A::SLt, A::SLe, A::SGt, A::SGe] {
        same(op, Bits::B8, Type::B1, &pairs);
    }
}

const DIVISIONS: [AluOp; 5] = [AluOp::UDiv, AluOp::UMod, AluOp::SDiv, AluOp::SRem, AluOp::SMod];

#[test]
fn quotients_in_steps_are_the_same() {
    for bits in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        let numbers = integers(bits);
        let mut pairs: Vec<[u64; 3]> = numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| [x, y, 0])).collect();
        let (x, y) = (spread(600, bits), spread(613, bits));
        pairs.extend(x.iter().zip(&y).map(|(&x, &y)| [x, y, 0]));
        // At and next to multiples of the divisor.
        let near = |(&n, &y): (&u64, &u64)| {
            [u64::MAX, 0, 1].map(|off| [n.wrapping_mul(y).wrapping_add(off) & bits.mask(), y, 0])
        };
        pairs.extend(x.iter().zip(&y).flat_map(near));
        let minimum = (bits.mask() >> 1) + 1;
        pairs.retain(|&[x, y, _]| y != 0 && !(x == minimum && y == bits.mask()));
        for op in DIVISIONS {
            same_from(Operands::ConstantSecond, op, bits, Type::scalar(bits), &pairs);
            same_from(Operands::Loaded, op, bits, Type::scalar(bits), &pairs);
        }
    }
}

#[test]
fn floats_in_steps_are_the_same() {
    use AluOp as A;
    for bits in [Bits::B16, Bits::B32, Bits::B64] {
        let ty = Type::scalar(bits);
        let numbers: Vec<_> = floats(bits).into_iter().map(|x| [x, 0, 0]).collect();
        let nan = [dovetail_ir::number::encode(f64::NAN, bits), 0, 0];
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
fn numbers_converted_in_steps_are_the_same() {
    use AluOp as A;
    let one = |x: u64| [x, 0, 0];
    for from in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        let numbers: Vec<_> = integers(from).into_iter().chain(spread(200, from)).map(one).collect();
        for to in [Bits::B16, Bits::B32, Bits::B64] {
            for op in [A::S2F, A::U2F].into_iter().filter(|op| !op.has_instruction(from, to)) {
                same(op, from, Type::scalar(to), &numbers);
            }
        }
    }
    let ties =
        [1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-11) + 2f64.powi(-40), 1.0 + 3.0 * 2f64.powi(-11), 2f64.powi(-25)];
    for from in [Bits::B16, Bits::B32, Bits::B64] {
        let inside = |to: Bits, signed: bool| {
            let some =
                [0.0, 0.4, 0.99, 1.0, 1.5, 100.7, 4e4, 3e9, 4_294_967_295.0, 4_294_967_296.5, 1.5e18, 9.2e18, 1.8e19];
            let limit = 2f64.powi(to.count() as i32 - i32::from(signed));
            let signs: &[f64] = if signed { &[1.0, -1.0] } else { &[1.0] };
            let all = some.into_iter().filter(|x| *x < limit).flat_map(|x| signs.iter().map(move |sign| sign * x));
            let held = all
                .map(|x| dovetail_ir::number::encode(x, from))
                .filter(|bits| dovetail_ir::number::decode(*bits, from).is_finite());
            held.map(one).collect::<Vec<_>>()
        };
        for to in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
            for (op, signed) in [(A::F2S, true), (A::F2U, false)] {
                if !op.has_instruction(from, to) {
                    same(op, from, Type::scalar(to), &inside(to, signed));
                }
            }
        }
        let numbers: Vec<_> =
            floats(from).into_iter().chain(ties.map(|x| dovetail_ir::number::encode(x, from))).map(one).collect();
        for to in [Bits::B16, Bits::B32, Bits::B64].into_iter().filter(|to| !A::FConv.has_instruction(from, *to)) {
            same(A::FConv, from, Type::scalar(to), &numbers);
        }
    }
}

/// Asserts that the expansion's error is at most this many ulp, and zero for zeros, infinities and NaN.
#[track_caller]
fn close(op: AluOp, bits: Bits, ulps: f64, cases: &[[u64; 3]]) {
    use dovetail_ir::number::{decode, real, ulp};
    for operands in [Operands::ConstantSecond, Operands::Loaded] {
        let [_, got] = both(op, bits, Type::scalar(bits), cases, operands);
        for (case, got) in cases.iter().zip(got.chunks(8)) {
            let want = real(op, case.map(|x| decode(x, bits))).unwrap();
            let got = decode(u64::from_le_bytes(got.try_into().unwrap()) & bits.mask(), bits);
            let rounded = decode(dovetail_ir::number::encode(want, bits), bits);
            let special = rounded == 0.0 || !rounded.is_finite();
            let same = got.to_bits() == rounded.to_bits() || got.is_nan() && rounded.is_nan();
            let near = (got - want).abs() <= ulps * ulp(want, bits);
            assert!(if special { same } else { near }, "{} of {bits:?}: {case:x?}: {got:e}, not {want:e}", op.name());
        }
    }
}

/// Mantissas and signs at exponents from -`range` to `range`.
fn normals(bits: Bits, range: i32) -> Vec<u64> {
    let mantissas = [1.0, 1.1, 1.25, 1.0 / 3.0 + 1.0, 1.6, 1.999_999_9, 2.0 - 2f64.powi(-52)];
    let exponents = [-range, -range / 2, -3, -1, 0, 1, 2, range / 2, range - 1];
    let all = exponents.into_iter().flat_map(|e| mantissas.map(|m| m * 2f64.powi(e)));
    all.flat_map(|x| [x, -x]).map(|x| dovetail_ir::number::encode(x, bits)).collect()
}

#[test]
fn quotients_and_roots_keep_vulkan_s_bounds() {
    use AluOp as A;
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for (bits, range) in [(Bits::B16, 13), (Bits::B32, 125), (Bits::B64, 1021)] {
        let special = special.map(|x| dovetail_ir::number::encode(x, bits));
        let divisors = normals(bits, range);
        let dividends: Vec<u64> = normals(bits, range / 2).into_iter().chain(special).collect();
        let mut pairs: Vec<_> = dividends.iter().flat_map(|&x| divisors.iter().map(move |&y| [x, y, 0])).collect();
        // A denormal quotient may lose digits, and a quotient at the upper limit may exceed it.
        pairs.retain(|[x, y, _]| {
            let [x, y] = [x, y].map(|n| dovetail_ir::number::decode(*n, bits));
            let quotient = (x / y).abs();
            x == 0.0 || !x.is_finite() || (2f64.powi(-range)..2f64.powi(range + 1)).contains(&quotient)
        });
        pairs.extend(special.iter().flat_map(|&x| special.map(|y| [x, y, 0])));
        close(A::FDiv, bits, if bits == Bits::B64 { 1.0 } else { 2.5 }, &pairs);
    }
    let bits = Bits::B64;
    let special = special.map(|x| dovetail_ir::number::encode(x, bits));
    let numbers: Vec<_> = normals(bits, 1020).into_iter().chain(special).map(|x| [x, 0, 0]).collect();
    let exact = [1.0, 3.0, 7.0, 1e6, 3.0 * 2f64.powi(-900)]
        .into_iter()
        .flat_map(|y: f64| [1.0, 5.0, 1023.0].map(|q| [(q * y).to_bits(), y.to_bits(), 0]));
    close(A::FDiv, bits, 0.0, &exact.collect::<Vec<_>>());
    let squares: Vec<_> = [1.0, 4.0, 9.0, 1e8, 1_234_567.0 * 1_234_567.0].map(|x: f64| [x.to_bits(), 0, 0]).into();
    close(A::FSqrt, bits, 0.0, &squares);
    close(A::FRcp, bits, 1.5, &numbers);
    close(A::FRsq, bits, 2.0, &numbers);
    close(A::FSqrt, bits, 1.0, &numbers);
}

#[test]
fn denormals_that_are_kept_are_divided() {
    use AluOp as A;
    let tiny = |x: f32| u64::from(x.to_bits());
    for (op, x, y) in
        [(A::FDiv, 3e-40f32, 1e-3f32), (A::FDiv, 1.0, 2e38), (A::FSqrt, 3e-40, 0.0), (A::FRsq, 3e-40, 0.0)]
    {
        let mut shader = each(op, Bits::B32, Type::B32, &[[tiny(x), tiny(y), 0]], Operands::Loaded);
        let want = run(&shader, 8);
        shader.modes.denorm[1] = dovetail_ir::DenormMode::Preserve;
        lower_arithmetic::run(&mut shader, WaveSize::W32).unwrap();
        let has = |wanted| shader.live_insts().any(|inst| matches!(inst.op, Op::Alu(op, _) if op == wanted));
        assert!(has(A::FLdexp) || has(A::FOLt), "{} is scaled", op.name());
        let [want, got] = [want, run(&shader, 8)].map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        assert!((want - got).abs() <= want * 3e-7 + 3e-45, "{}: {got:e}, not {want:e}", op.name());
    }
}

#[test]
fn what_the_rules_forbid_is_lowered() {
    const WIDTHS: [Bits; 4] = [Bits::B8, Bits::B16, Bits::B32, Bits::B64];
    let mut tried = 0;
    for &op in AluOp::ALL {
        for (from, to) in WIDTHS.into_iter().flat_map(|from| WIDTHS.map(|to| (from, to))) {
            let (ty, converts) = (Type::scalar(to), op.sig() == Sig::Convert);
            let result = match op.sig() {
                Sig::Compare | Sig::Carry => Type::B1,
                Sig::ToB32 => Type::B32,
                _ => ty,
            };
            let no_float = op.takes_float() && from == Bits::B8 || op.gives_float() && to == Bits::B8;
            let fits = if converts { true } else { from == to } && !no_float && op.sig() != Sig::All32;
            let seed = matches!(op, AluOp::FRcpSeed | AluOp::FRsqSeed);
            if !fits || seed || op.has_instruction(from, result.bits()) {
                continue;
            }
            let mut shader = each(op, from, result, &[[0; 3]], Operands::Loaded);
            if lower_arithmetic::run(&mut shader, WaveSize::W32).is_ok() {
                tried += 1;
                let left = |inst: &&dovetail_ir::Inst| match (&inst.op, inst.result) {
                    (Op::Alu(op, _), Some(result)) => {
                        !op.has_instruction(shader.ty(inst.args[0]).bits(), shader.ty(result).bits())
                    }
                    _ => false,
                };
                let left = shader.live_insts().find(left);
                assert!(left.is_none(), "{} of {from:?} to {to:?}: {left:?}", op.name());
            }
        }
    }
    assert!(tried > 80, "{tried}");
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
    lower_atomics::run(&mut lowered, Gpu::Gfx1030.facts()).unwrap();
    assert_eq!(lowered.blocks.len(), 3);
    let bytes = run(&lowered, 8);
    assert_eq!(bytes, run(&whole, 8));
    assert_eq!(bytes[..4], 64f32.to_le_bytes());
}

#[test]
fn the_least_float_of_an_image_is_a_loop_where_no_instruction_finds_it() {
    let text = "shader lower compute \"main\"\nmodes 64 1 1 any any any any rte rte rte\nlower wave32 \"m\"\n\
        arg sgpr b32x8 user \"i\"\n arg vgpr b64 system \"a\"\n arg vgpr b32 system \"x\"\n arg vgpr b64 system \"y\"\n\
        block0(v0: b32x8, v1: b64, v2: b32, v3: b64):\n\
        v4: b32 = mimg[atomic fmin 2d 0x1 lod_zero] v0, v2, v2, v2\n v5: b64 = global_atomic[fmax] v1, v3\n\
        v6: b32 = global_atomic[fmin] v1, v4\n return\n";
    let blocks = |gpu: Gpu| {
        let mut shader = parse(text).unwrap();
        lower_atomics::run(&mut shader, gpu.facts()).unwrap();
        shader.blocks.len()
    };
    assert_eq!([Gpu::Gfx1030, Gpu::Gfx1100].map(blocks), [1, 5]);
}
