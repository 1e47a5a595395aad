//! Runs upper-level IR for one invocation: blocks, locals, one byte array for each kind of memory, scalar arithmetic.
//!
//! It supports only what the tests of the front end need; anything else panics with its name.

use dovetail::ir::{AluOp, Bits, BlockCall, BuiltIn, NumericKind, Op, OutputSlot, Shader, Terminator, Type, Value};

/// The inputs and outputs of an invocation.
#[derive(Default)]
pub struct World {
    /// Contents of the bindings, by binding number.
    pub buffers: Vec<Vec<u8>>,
    pub push_constants: Vec<u8>,
    /// Stage inputs, four words per location.
    pub inputs: Vec<u32>,
    pub outputs: Vec<(OutputSlot, NumericKind, u64)>,
    pub demoted: bool,
}

struct Run<'s> {
    shader: &'s Shader,
    world: &'s mut World,
    values: Vec<Vec<u64>>,
    locals: Vec<Vec<u8>>,
    shared: Vec<u8>,
}

/// Runs the shader until it returns.
pub fn run(shader: &Shader, world: &mut World) {
    let locals = shader.locals.iter().map(|l| vec![0xcd; l.bytes as usize]).collect();
    let shared = vec![0xcd; shader.shared_bytes as usize];
    let mut run = Run { shader, world, values: vec![Vec::new(); shader.values.len()], locals, shared };
    let mut block = Shader::ENTRY;
    for _ in 0..100_000 {
        for &id in &shader.block(block).insts {
            run.inst(shader.inst(id));
        }
        let next = match shader.block(block).term().expect("a terminator") {
            Terminator::Jump(to) => to,
            Terminator::Branch { cond, then, els } => {
                if run.one(cond) != 0 {
                    then
                } else {
                    els
                }
            }
            Terminator::Switch { value, cases, default } => {
                let v = run.one(value);
                cases.iter().find(|(k, _)| *k == v).map_or(default, |(_, to)| to)
            }
            Terminator::Return(_) => return,
            Terminator::Unreachable => panic!("an unreachable end was reached"),
        };
        block = run.jump(next);
    }
    panic!("it does not end");
}

impl Run<'_> {
    fn jump(&mut self, to: BlockCall<'_>) -> dovetail::ir::BlockId {
        // Read all before writing: an argument may be a parameter of the same block.
        let args: Vec<Vec<u64>> = to.args.iter().map(|a| self.values[a.index()].clone()).collect();
        let params = &self.shader.block(to.block).params;
        assert_eq!(params.len(), args.len());
        for (p, a) in params.iter().zip(args) {
            self.values[p.index()] = a;
        }
        to.block
    }

    fn one(&self, v: Value) -> u64 {
        match self.values[v.index()].as_slice() {
            [x] => *x,
            other => panic!("{v} has {} lanes", other.len()),
        }
    }

    fn inst(&mut self, inst: &dovetail::ir::Inst) {
        let arg = |n: usize| inst.args[n];
        let ty = inst.result.map(|r| self.shader.ty(r));
        let result: Option<Vec<u64>> = match &inst.op {
            Op::Const(bits) => Some(vec![*bits]),
            Op::Undef => Some(vec![0xabad_cafe & ty.unwrap().bits().mask(); ty.unwrap().lanes() as usize]),
            Op::Alu(op, _) => {
                let args: Vec<u64> = inst.args.iter().map(|a| self.one(*a)).collect();
                let from = self.shader.ty(arg(0)).bits();
                Some(vec![alu(*op, &args, from, ty.unwrap().bits()) & ty.unwrap().bits().mask()])
            }
            Op::Compose => Some(inst.args.iter().map(|a| self.one(*a)).collect()),
            Op::Extract(lane) => Some(vec![self.values[arg(0).index()][usize::from(*lane)]]),
            Op::Bitcast => Some(split(&join(&self.values[arg(0).index()], self.shader.ty(arg(0))), ty.unwrap())),
            Op::LocalLoad { local, align } => {
                let at = self.aligned(arg(0), align.bytes());
                Some(load(&self.locals[local.index()], at, ty.unwrap(), false))
            }
            Op::LocalStore { local, align } => {
                let (at, bytes) = (self.aligned(arg(0), align.bytes()), self.bytes(arg(1)));
                self.locals[local.index()][at..at + bytes.len()].copy_from_slice(&bytes);
                None
            }
            Op::ConstLoad { table, align } => {
                let at = self.aligned(arg(0), align.bytes());
                Some(load(&self.shader.tables[table.index()].bytes, at, ty.unwrap(), false))
            }
            Op::SharedLoad { align, .. } => {
                let at = self.aligned(arg(0), align.bytes());
                Some(load(&self.shared, at, ty.unwrap(), false))
            }
            Op::SharedStore { align, .. } => {
                let (at, bytes) = (self.aligned(arg(0), align.bytes()), self.bytes(arg(1)));
                self.shared[at..at + bytes.len()].copy_from_slice(&bytes);
                None
            }
            Op::Descriptor { resource, .. } => {
                let r = &self.shader.resources[resource.index()];
                Some(vec![u64::from(r.binding) + self.one(arg(0)), 0, 0, 0])
            }
            Op::BufferLoad { align, .. } => {
                let at = self.aligned(arg(1), align.bytes());
                Some(load(self.buffer(arg(0)), at, ty.unwrap(), true))
            }
            Op::BufferStore { align, .. } => {
                let (at, bytes) = (self.aligned(arg(1), align.bytes()), self.bytes(arg(2)));
                if let Some(to) = self.buffer(arg(0)).get_mut(at..at + bytes.len()) {
                    to.copy_from_slice(&bytes);
                }
                None
            }
            // An address has a binding number in the high word and an offset in the low word.
            Op::GlobalLoad { align, .. } => {
                let at = self.aligned(arg(0), align.bytes());
                Some(load(&self.world.buffers[at >> 32], at & 0xffff_ffff, ty.unwrap(), false))
            }
            Op::GlobalStore { align, .. } => {
                let (at, bytes) = (self.aligned(arg(0), align.bytes()), self.bytes(arg(1)));
                let start = at & 0xffff_ffff;
                self.world.buffers[at >> 32][start..start + bytes.len()].copy_from_slice(&bytes);
                None
            }
            Op::BufferSize => Some(vec![self.buffer(arg(0)).len() as u64]),
            Op::PushConstant { align } => {
                let at = self.aligned(arg(0), align.bytes());
                Some(load(&self.world.push_constants, at, ty.unwrap(), false))
            }
            Op::LoadInput { location, component, .. } => {
                let at = (*location * 4 + u32::from(*component)) as usize;
                Some(vec![u64::from(self.world.inputs[at])])
            }
            Op::LoadBuiltIn { builtin, component, .. } => Some(vec![match builtin {
                BuiltIn::WorkgroupId => 2,
                BuiltIn::LocalInvocationId => 1 + u64::from(*component),
                BuiltIn::VertexIndex => 7,
                other => panic!("{other:?}"),
            }]),
            Op::StoreOutput { slot, kind } => {
                let v = self.one(arg(0));
                self.world.outputs.push((*slot, *kind, v));
                None
            }
            Op::DemoteIf => {
                self.world.demoted |= self.one(arg(0)) != 0;
                None
            }
            other => panic!("not run: {other:?}"),
        };
        assert_eq!(result.is_some(), inst.result.is_some());
        if let (Some(v), Some(bits)) = (inst.result, result) {
            assert_eq!(bits.len(), self.shader.ty(v).lanes() as usize);
            self.values[v.index()] = bits;
        }
    }

    /// An offset, checked for the alignment that the operation declares.
    fn aligned(&self, offset: Value, align: u32) -> usize {
        let at = self.one(offset);
        assert_eq!(at % u64::from(align), 0, "offset {at} is not aligned to {align}");
        at as usize
    }

    fn bytes(&self, v: Value) -> Vec<u8> {
        join(&self.values[v.index()], self.shader.ty(v))
    }

    fn buffer(&mut self, descriptor: Value) -> &mut Vec<u8> {
        let binding = self.values[descriptor.index()][0] as usize;
        &mut self.world.buffers[binding]
    }
}

fn join(lanes: &[u64], ty: Type) -> Vec<u8> {
    let bytes = ty.bits().bytes() as usize;
    lanes.iter().flat_map(|l| l.to_le_bytes()[..bytes].to_vec()).collect()
}

fn split(bytes: &[u8], ty: Type) -> Vec<u64> {
    let word = |b: &[u8]| b.iter().rev().fold(0u64, |x, b| x << 8 | u64::from(*b));
    bytes.chunks(ty.bits().bytes() as usize).map(word).collect()
}

fn load(from: &[u8], at: usize, ty: Type, robust: bool) -> Vec<u64> {
    let len = ty.bytes() as usize;
    match from.get(at..at + len) {
        Some(bytes) => split(bytes, ty),
        None if robust => vec![0; ty.lanes() as usize],
        None => panic!("a load of {ty} at {at} in {} bytes", from.len()),
    }
}

fn alu(op: AluOp, args: &[u64], from: Bits, to: Bits) -> u64 {
    use AluOp as A;
    let width = from.count();
    let signed = |x: u64| (x << (64 - width)) as i64 >> (64 - width);
    let (x, y) = (args[0], args.get(1).copied().unwrap_or(0));
    let (sx, sy) = (signed(x), signed(y));
    let float = |x: u64| if from == Bits::B64 { f64::from_bits(x) } else { f64::from(f32::from_bits(x as u32)) };
    let bits = |x: f64| if to == Bits::B64 { x.to_bits() } else { u64::from((x as f32).to_bits()) };
    if op.takes_float() || op.gives_float() {
        assert!(!matches!((from, to), (Bits::B16, _) | (_, Bits::B16)), "no halves here");
    }
    let (fx, fy) = (float(x), float(y));
    match op {
        A::IAdd => x.wrapping_add(y),
        A::ISub => x.wrapping_sub(y),
        A::IMul => x.wrapping_mul(y),
        A::UMulHigh => ((u128::from(x) * u128::from(y)) >> width) as u64,
        A::SMulHigh => ((i128::from(sx) * i128::from(sy)) >> width) as u64,
        A::UDiv => x / y,
        A::SDiv => (sx / sy) as u64,
        A::UMod => x % y,
        A::SRem => (sx % sy) as u64,
        A::SMod => {
            sx.rem_euclid(sy.abs()).wrapping_add(if sy < 0 && sx.rem_euclid(sy.abs()) != 0 { sy } else { 0 }) as u64
        }
        A::INeg => x.wrapping_neg(),
        A::IAnd => x & y,
        A::IOr => x | y,
        A::IXor => x ^ y,
        A::INot => !x,
        A::Shl => x << (y as u32 % width),
        A::LShr => x >> (y as u32 % width),
        A::AShr => (sx >> (y as u32 % width)) as u64,
        A::USubSat => x.saturating_sub(y),
        A::UAddCarry => (x + y) >> width,
        A::USubBorrow => u64::from(x < y),
        A::BitCount => u64::from(x.count_ones()),
        A::BitReverse => x.reverse_bits() >> (64 - width),
        A::UBitExtract => (x >> y) & ((1u64 << args[2]) - 1),
        A::SBitExtract if args[2] == 0 => 0,
        A::SBitExtract => (((x >> y) << (64 - args[2])) as i64 >> (64 - args[2])) as u64,
        A::IEq => u64::from(x == y),
        A::INe => u64::from(x != y),
        A::ULt => u64::from(x < y),
        A::ULe => u64::from(x <= y),
        A::UGt => u64::from(x > y),
        A::UGe => u64::from(x >= y),
        A::SLt => u64::from(sx < sy),
        A::SLe => u64::from(sx <= sy),
        A::SGt => u64::from(sx > sy),
        A::SGe => u64::from(sx >= sy),
        A::UMin => x.min(y),
        A::Select if x != 0 => y,
        A::Select => args[2],
        A::ZExt | A::Trunc => x,
        A::SExt => sx as u64,
        A::F2S => fx as i64 as u64,
        A::F2U => fx as u64,
        A::S2F => bits(sx as f64),
        A::U2F => bits(x as f64),
        A::FConv => bits(fx),
        A::FAdd => bits(fx + fy),
        A::FSub => bits(fx - fy),
        A::FMul => bits(fx * fy),
        A::FDiv => bits(fx / fy),
        A::FMod => bits(fx - fy * (fx / fy).floor()),
        A::FRem => bits(fx % fy),
        A::FNeg => bits(-fx),
        A::FOEq => u64::from(fx == fy),
        A::FOLt => u64::from(fx < fy),
        A::FOGt => u64::from(fx > fy),
        A::FOLe => u64::from(fx <= fy),
        A::FOGe => u64::from(fx >= fy),
        A::FUNe => u64::from(fx != fy),
        other => panic!("not run: {}", other.name()),
    }
}
