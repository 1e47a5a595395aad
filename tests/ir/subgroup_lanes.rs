//! Runs the output of `lower_subgroup` lane by lane, with random lanes inactive, and compares it with the operation's
//! definition.
//!
//! This small machine knows straight-line code of the operations that the pass emits. Inactive lanes hold garbage;
//! every lane computes the values from `set_inactive` to `strict_wwm`.

use dovetail::compile::passes::lower_subgroup;
use dovetail::ir::{
    AluOp, AmdOp, Builder, LaneOp, Op, QuadSwap, ReduceOp, Shader, SubgroupOp, Terminator, Type, Value,
};
use dovetail::target::{Stage, WaveSize};
use proptest::prelude::*;

/// One value in every lane: its vector elements, and whether inactive lanes compute it too.
#[derive(Clone)]
struct Lanes {
    rows: Vec<Vec<u64>>,
    whole: bool,
}

struct Machine<'a> {
    shader: &'a Shader,
    values: Vec<Option<Lanes>>,
    active: u64,
    wave: usize,
}

impl Machine<'_> {
    fn on(&self, lane: usize) -> bool {
        self.active >> lane & 1 == 1
    }

    fn first(&self) -> usize {
        self.active.trailing_zeros() as usize
    }

    fn get(&self, v: Value) -> &Lanes {
        self.values[v.index()].as_ref().expect("a value that was computed")
    }

    fn run(&mut self) {
        for &id in &self.shader.block(Shader::ENTRY).insts {
            let inst = self.shader.inst(id);
            let Some(result) = inst.result else { continue };
            if self.values[result.index()].is_some() {
                continue;
            }
            let ty = self.shader.ty(result);
            let args: Vec<Lanes> = inst.args.iter().map(|&a| self.get(a).clone()).collect();
            let whole = args.iter().any(|a| a.whole) || matches!(inst.op, Op::Target(AmdOp::Lane(LaneOp::SetInactive)));
            let rows = match &inst.op {
                Op::Target(AmdOp::Lane(op)) => self.amd(*op, &args),
                _ => (0..self.wave).map(|lane| self.plain(&inst.op, &args, lane, ty, &inst.args)).collect(),
            };
            let whole = whole && !matches!(inst.op, Op::Target(AmdOp::Lane(LaneOp::StrictWwm)));
            self.values[result.index()] = Some(Lanes { rows, whole });
        }
    }

    fn plain(&self, op: &Op, args: &[Lanes], lane: usize, ty: Type, values: &[Value]) -> Vec<u64> {
        let a = |i: usize| args[i].rows[lane][0];
        let scalar = |x: u64| vec![x & ty.bits().mask()];
        match op {
            Op::Const(bits) => vec![*bits],
            Op::Undef => vec![0xdead; ty.lanes() as usize],
            Op::Compose => args.iter().map(|x| x.rows[lane][0]).collect(),
            Op::Extract(n) => vec![args[0].rows[lane][usize::from(*n)]],
            Op::Bitcast => {
                let row = &args[0].rows[lane];
                match (row.len(), ty.lanes()) {
                    (1, 2) => vec![row[0] & 0xffff_ffff, row[0] >> 32],
                    (2, 1) => vec![row[0] | row[1] << 32],
                    _ => row.clone(),
                }
            }
            Op::Alu(alu, _) => {
                let width = self.shader.ty(values[0]).bits().count();
                let signed = |x: u64| ((x << (64 - width)) as i64) >> (64 - width);
                let single = |x: u64| f32::from_bits(x as u32);
                match alu {
                    AluOp::ZExt | AluOp::Trunc => scalar(a(0)),
                    AluOp::IAdd => scalar(a(0).wrapping_add(a(1))),
                    AluOp::ISub => scalar(a(0).wrapping_sub(a(1))),
                    AluOp::IMul => scalar(a(0).wrapping_mul(a(1))),
                    AluOp::IAnd => scalar(a(0) & a(1)),
                    AluOp::IOr => scalar(a(0) | a(1)),
                    AluOp::IXor => scalar(a(0) ^ a(1)),
                    AluOp::INot => scalar(!a(0)),
                    AluOp::Shl => scalar(a(0) << a(1)),
                    AluOp::IEq => scalar(u64::from(a(0) == a(1))),
                    AluOp::INe => scalar(u64::from(a(0) != a(1))),
                    AluOp::UMax => scalar(a(0).max(a(1))),
                    AluOp::UMin => scalar(a(0).min(a(1))),
                    AluOp::SMin => scalar(signed(a(0)).min(signed(a(1))) as u64),
                    AluOp::SMax => scalar(signed(a(0)).max(signed(a(1))) as u64),
                    AluOp::FAdd => scalar(u64::from((single(a(0)) + single(a(1))).to_bits())),
                    AluOp::FMax => scalar(u64::from(single(a(0)).max(single(a(1))).to_bits())),
                    AluOp::FMin => scalar(u64::from(single(a(0)).min(single(a(1))).to_bits())),
                    AluOp::FindILsb => scalar(if a(0) == 0 { u64::MAX } else { u64::from(a(0).trailing_zeros()) }),
                    AluOp::Select => scalar(if a(0) != 0 { a(1) } else { a(2) }),
                    _ => panic!("{alu:?} is not expected"),
                }
            }
            _ => panic!("{op:?} is not expected"),
        }
    }

    fn amd(&self, op: LaneOp, args: &[Lanes]) -> Vec<Vec<u64>> {
        let row = |i: usize, lane: usize| args[i].rows[lane][0];
        let each = |f: &dyn Fn(usize) -> u64| (0..self.wave).map(|lane| vec![f(lane)]).collect();
        match op {
            LaneOp::ReadFirstLane => each(&|_| row(0, self.first())),
            LaneOp::ReadLane => each(&|_| row(0, row(1, self.first()) as usize % self.wave)),
            LaneOp::WriteLane => each(&|lane| if lane as u64 == row(1, 0) { row(0, 0) } else { row(2, lane) }),
            LaneOp::Ballot => {
                let mask = (0..self.wave).filter(|&l| self.on(l) && row(0, l) != 0).fold(0, |m, l| m | 1 << l);
                each(&|_| mask)
            }
            LaneOp::MaskBitCount => each(&|lane| u64::from((row(0, lane) & ((1 << lane) - 1)).count_ones())),
            LaneOp::SetInactive => each(&|lane| row(usize::from(!self.on(lane)), lane)),
            LaneOp::StrictWwm => each(&|lane| if self.on(lane) { row(0, lane) } else { 0xbad }),
            LaneOp::Wqm => each(&|lane| row(0, lane)),
            LaneOp::BPermute => each(&|lane| row(1, (row(0, lane) / 4) as usize % 32)),
            LaneOp::PermlaneX16 { low, high, .. } => each(&|lane| {
                let selectors = u64::from(low) | u64::from(high) << 32;
                let from = (lane & !15 ^ 16) | (selectors >> (4 * (lane & 15)) & 15) as usize;
                row(1, from)
            }),
            LaneOp::Dpp { ctrl, row_mask, bound_zero, .. } => each(&|lane| {
                let (base, inside) = (lane & !15, lane & 15);
                let from = match ctrl {
                    0..=0xff => Some(lane & !3 | usize::from(ctrl >> (2 * (lane & 3)) & 3)),
                    0x111..=0x11f => inside.checked_sub(usize::from(ctrl & 15)).map(|n| base | n),
                    0x161..=0x16f => Some(base | inside ^ usize::from(ctrl & 15)),
                    _ => panic!("ctrl {ctrl:#x} is not expected"),
                };
                let from = from.filter(|&l| args[1].whole || self.on(l));
                match from {
                    _ if row_mask >> (lane / 16) & 1 == 0 => row(0, lane),
                    Some(from) => row(1, from),
                    None if bound_zero => 0,
                    None => row(0, lane),
                }
            }),
            _ => panic!("{op:?} is not expected"),
        }
    }
}

#[derive(Clone)]
enum Operand {
    Lanes(Type, Vec<u64>),
    Known(u32),
}

/// Lowers one operation on these operands and runs it. The second operand may be a constant.
fn run(op: SubgroupOp, ty: Type, operands: &[Operand], active: u64, wave: WaveSize) -> Vec<u64> {
    let mut shader = Shader::new("lanes", Stage::Compute);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let args: Vec<Value> = operands
        .iter()
        .map(|o| match o {
            Operand::Lanes(ty, _) => b.undef(*ty),
            Operand::Known(x) => b.c32(*x),
        })
        .collect();
    let result = b.value(Op::Subgroup(op), &args, ty);
    // A use, to check that it is renamed.
    let twice = b.value(Op::Compose, &[result, result], Type::vector(ty.bits(), 2).expect("two lanes"));
    b.terminate(Terminator::Return(&[]));
    lower_subgroup::run(&mut shader, wave).expect("lowered");
    let lanes = wave.lanes() as usize;
    let mut machine = Machine { shader: &shader, values: vec![None; shader.values.len()], active, wave: lanes };
    for (&arg, operand) in args.iter().zip(operands) {
        if let Operand::Lanes(_, lanes) = operand {
            let rows = lanes.iter().map(|&x| vec![x]).collect();
            machine.values[arg.index()] = Some(Lanes { rows, whole: false });
        }
    }
    machine.run();
    machine.get(twice).rows.iter().map(|r| r[0]).collect()
}

fn combine(op: ReduceOp, ty: Type, a: u64, b: u64) -> u64 {
    let width = ty.bits().count();
    let signed = |x: u64| ((x << (64 - width)) as i64) >> (64 - width);
    let x = match op {
        ReduceOp::IAdd => a.wrapping_add(b),
        ReduceOp::IMul => a.wrapping_mul(b),
        ReduceOp::UMax => a.max(b),
        ReduceOp::UMin => a.min(b),
        ReduceOp::SMax => signed(a).max(signed(b)) as u64,
        ReduceOp::SMin => signed(a).min(signed(b)) as u64,
        ReduceOp::And => a & b,
        ReduceOp::Or => a | b,
        ReduceOp::Xor => a ^ b,
        _ => panic!("floats are checked apart"),
    };
    x & ty.bits().mask()
}

fn case() -> impl Strategy<Value = (WaveSize, u64, Vec<u64>)> {
    (any::<bool>(), any::<u64>(), prop::collection::vec(any::<u64>(), 64)).prop_map(|(wide, active, values)| {
        let wave = if wide { WaveSize::W64 } else { WaveSize::W32 };
        let lanes = wave.lanes() as usize;
        let active = if wide { active } else { active & 0xffff_ffff };
        (wave, if active == 0 { 1 << (lanes - 1) } else { active }, values[..lanes].to_vec())
    })
}

const OPS: [ReduceOp; 9] = [
    ReduceOp::IAdd,
    ReduceOp::IMul,
    ReduceOp::UMax,
    ReduceOp::UMin,
    ReduceOp::SMax,
    ReduceOp::SMin,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];
const TYPES: [Type; 4] = [Type::B8, Type::B16, Type::B32, Type::B64];

/// The source lane of each lane.
type Source<'a> = &'a dyn Fn(usize) -> usize;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reductions_and_scans((wave, active, values) in case(), op in 0usize..9, ty in 0usize..4, cluster in 0u32..8) {
        let (op, ty) = (OPS[op], TYPES[ty]);
        let values: Vec<u64> = values.iter().map(|v| v & ty.bits().mask()).collect();
        let on = |l: usize| active >> l & 1 == 1;
        let lanes = values.len();
        let fold = |from: &mut dyn Iterator<Item = usize>| {
            from.filter(|&l| on(l)).map(|l| values[l]).reduce(|a, b| combine(op, ty, a, b))
        };
        let operands = [Operand::Lanes(ty, values.clone())];
        let size = if cluster == 7 { 0 } else { 1usize << cluster };
        let reduced = run(SubgroupOp::Reduce(op, size as u8), ty, &operands, active, wave);
        let inclusive = run(SubgroupOp::InclusiveScan(op), ty, &operands, active, wave);
        let exclusive = run(SubgroupOp::ExclusiveScan(op), ty, &operands, active, wave);
        for lane in (0..lanes).filter(|&l| on(l)) {
            let size = if size == 0 { lanes } else { size.min(lanes) };
            let start = lane & !(size - 1);
            prop_assert_eq!(Some(reduced[lane]), fold(&mut (start..start + size)), "reduce, lane {}", lane);
            prop_assert_eq!(Some(inclusive[lane]), fold(&mut (0..=lane)), "inclusive, lane {}", lane);
            // Below the first lane there is nothing: the identity, which changes nothing when combined.
            let below = fold(&mut (0..lane));
            let with_own = combine(op, ty, exclusive[lane], values[lane]);
            prop_assert_eq!(below.unwrap_or(exclusive[lane]), exclusive[lane], "exclusive, lane {}", lane);
            prop_assert_eq!(with_own, inclusive[lane], "identity, lane {}", lane);
        }
    }

    #[test]
    fn votes(((wave, active, values), constant) in (case(), any::<bool>())) {
        let on = |l: usize| active >> l & 1 == 1;
        let lanes = values.len();
        let values = if constant { vec![values[0]; lanes] } else { values };
        let truth: Vec<u64> = values.iter().map(|v| v & 1).collect();
        let ballot = (0..lanes).filter(|&l| on(l) && truth[l] == 1).fold(0u64, |m, l| m | 1 << l);
        let first = active.trailing_zeros() as usize;
        let equal = (0..lanes).all(|l| !on(l) || values[l] == values[first]);
        let (b1, b64) = (Operand::Lanes(Type::B1, truth), Operand::Lanes(Type::B64, values.clone()));
        for (op, ty, operand, want) in [
            (SubgroupOp::Ballot, Type::B64, &b1, ballot),
            (SubgroupOp::Any, Type::B1, &b1, u64::from(ballot != 0)),
            (SubgroupOp::All, Type::B1, &b1, u64::from(ballot == active)),
            (SubgroupOp::Reduce(ReduceOp::Xor, 0), Type::B1, &b1, u64::from(ballot.count_ones() & 1)),
            (SubgroupOp::BroadcastFirst, Type::B64, &b64, values[first]),
            (SubgroupOp::AllEqual, Type::B1, &b64, u64::from(equal)),
        ] {
            let got = run(op, ty, std::slice::from_ref(operand), active, wave);
            for lane in (0..lanes).filter(|&l| on(l)) {
                prop_assert_eq!(got[lane], want, "{:?}, lane {}", op, lane);
            }
        }
        let elect = run(SubgroupOp::Elect, Type::B1, &[], active, wave);
        for lane in (0..lanes).filter(|&l| on(l)) {
            prop_assert_eq!(elect[lane], u64::from(lane == first));
        }
    }

    #[test]
    fn exchange((wave, active, values) in case(), distance in 0usize..32, known in any::<bool>()) {
        let on = |l: usize| active >> l & 1 == 1;
        let lanes = values.len();
        let operand = |x: usize| if known { Operand::Known(x as u32) } else { Operand::Lanes(Type::B32, vec![x as u64; lanes]) };
        let source = Operand::Lanes(Type::B64, values.clone());
        // With 64 lanes, an unknown address becomes a loop, which this machine cannot run.
        let (narrow, in_place) = (wave == WaveSize::W32, wave == WaveSize::W32 || known);
        let cases: [(bool, SubgroupOp, usize, Source<'_>); 9] = [
            (narrow, SubgroupOp::ShuffleDown, distance, &|lane| lane + distance),
            (narrow, SubgroupOp::ShuffleUp, distance, &|lane| lane.wrapping_sub(distance)),
            (narrow, SubgroupOp::Rotate(8), distance, &|lane| lane & !7 | (lane + distance) & 7),
            (narrow, SubgroupOp::Rotate(0), distance, &|lane| (lane + distance) & 31),
            (in_place, SubgroupOp::ShuffleXor, distance, &|lane| lane ^ distance),
            (in_place, SubgroupOp::Shuffle, distance, &|_| distance),
            (true, SubgroupOp::Broadcast, distance, &|_| distance),
            (true, SubgroupOp::QuadBroadcast, distance & 3, &|lane| lane & !3 | distance & 3),
            (true, SubgroupOp::QuadSwap(QuadSwap::Vertical), 0, &|lane| lane ^ 2),
        ];
        for (_, op, second, from) in cases.into_iter().filter(|(runs, ..)| *runs) {
            let mut operands = vec![source.clone()];
            operands.extend((!matches!(op, SubgroupOp::QuadSwap(_))).then(|| operand(second)));
            let got = run(op, Type::B64, &operands, active, wave);
            for lane in (0..lanes).filter(|&l| on(l)) {
                let from = from(lane);
                if from < lanes && on(from) {
                    prop_assert_eq!(got[lane], values[from], "{:?}, lane {}", op, lane);
                }
            }
        }
    }
}
