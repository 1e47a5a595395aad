//! Replaces accesses to small arrays by an index that is not known: a load chooses among all elements that it may mean, a
//! store gives each of them its new or its old value. The array then needs no memory.
//!
//! In registers, an access costs a comparison for each element and a choice for each of its dwords. In scratch memory it
//! costs few instructions, but takes as long as any access to memory, as do the stores of elements by known indices.

use super::{number, promote};
use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{Align, AluOp, BlockId, FpFlags, Inst, InstArgs, InstId, LocalId, Op, Shader, Type, Value};

/// Largest variable in bytes.
const MAX_BYTES: u32 = 256;
/// Most elements that an access may mean.
const MAX_ELEMENTS: u32 = 16;
/// Most comparisons and choices for all accesses to a variable.
const MAX_COST: u32 = 96;
/// Most operations that an offset is followed through.
const MAX_STEPS: usize = 8;

/// Replaces the accesses.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let chosen = choose(shader);
    if !chosen.iter().any(|chosen| *chosen) {
        return Ok(());
    }
    for block in shader.block_ids() {
        let touched = |id: &InstId| shader.inst(*id).op.local().is_some_and(|local| chosen[local.index()]);
        if shader.block(block).insts.iter().any(touched) {
            rewrite(shader, block, &chosen);
        }
    }
    promote::run(shader, options)?;
    number::run(shader, options)
}

/// By variable, whether its accesses are replaced.
fn choose(shader: &Shader) -> List<bool> {
    let mut cost = filled(shader.locals.len(), Some(0));
    let mut width = filled(shader.locals.len(), None);
    for (cost, local) in cost.iter_mut().zip(&shader.locals) {
        *cost = cost.filter(|_| local.bytes <= MAX_BYTES);
    }
    for inst in shader.live_insts() {
        let Some(local) = inst.op.local() else { continue };
        let (sum, width) = (&mut cost[local.index()], &mut width[local.index()]);
        // Only values of one size at multiples of it are certain to become values of their own.
        let fits = |access: &Accessed| {
            let bits = access.ty.bits();
            let regular = access.first.is_multiple_of(bits.bytes()) && access.step.is_multiple_of(bits.bytes());
            *width.get_or_insert(bits) == bits
                && (regular || access.count == 1 && access.first.is_multiple_of(bits.bytes()))
        };
        let access = Accessed::of(shader, inst).filter(fits);
        *sum = sum.zip(access).map(|(sum, access)| sum + access.cost()).filter(|sum| *sum <= MAX_COST);
    }
    cost.iter().map(|cost| cost.is_some_and(|cost| cost > 0)).collect()
}

/// What an access may mean.
struct Accessed {
    local: LocalId,
    ty: Type,
    index: Value,
    /// The index of the first element; those of the others follow it.
    first_index: u32,
    /// Offsets of the elements.
    first: u32,
    step: u32,
    count: u32,
}

impl Accessed {
    /// `None` if there are too many elements.
    fn of(shader: &Shader, inst: &Inst) -> Option<Self> {
        let local = inst.op.local()?;
        let (bytes, offset) = (shader.locals[local.index()].bytes, *inst.args.first()?);
        let ty = shader.ty(inst.args.get(1).copied().or(inst.result)?);
        let (index, scale, start) = scaled(shader, offset);
        let room = bytes.checked_sub(ty.bytes())?;
        // A constant that is added to an index may be below zero.
        let (start, step) = (start.cast_signed(), scale.max(1).cast_signed());
        let first = if scale == 0 { start } else { start.rem_euclid(step) };
        let first_index = ((first - start) / step).cast_unsigned();
        let (first, step) = (u32::try_from(first).ok()?, step.cast_unsigned());
        if first > room {
            return None;
        }
        let count = if scale == 0 { 1 } else { (room - first) / step + 1 };
        let access = Self { local, ty, index, first_index, first, step, count };
        (count <= MAX_ELEMENTS).then_some(access)
    }

    fn cost(&self) -> u32 {
        let dwords = self.ty.total_bits().div_ceil(32);
        if self.count == 1 { 0 } else { self.count * (1 + dwords) }
    }
}

/// An offset as an index times a scale, plus a start; the scale of a constant is 0.
fn scaled(shader: &Shader, offset: Value) -> (Value, u32, u32) {
    let (mut v, mut scale, mut start) = (offset, 1u32, 0u32);
    for _ in 0..MAX_STEPS {
        if let Some(known) = shader.as_const(v) {
            return (v, 0, start.wrapping_add((known as u32).wrapping_mul(scale)));
        }
        let Some(Inst { op: Op::Alu(op, _), args, .. }) = shader.def(v) else { break };
        let Some(known) = args.get(1).and_then(|v| shader.as_const(*v)).map(|bits| bits as u32) else { break };
        match op {
            AluOp::IAdd => start = start.wrapping_add(known.wrapping_mul(scale)),
            AluOp::ISub => start = start.wrapping_sub(known.wrapping_mul(scale)),
            AluOp::IMul if known > 0 && known <= MAX_BYTES && scale <= MAX_BYTES => scale *= known,
            AluOp::Shl if known < 8 && scale <= MAX_BYTES => scale <<= known,
            _ => break,
        }
        v = args[0];
    }
    (v, scale, start)
}

/// Replaces the accesses of a block.
fn rewrite(shader: &mut Shader, block: BlockId, chosen: &[bool]) {
    let old = std::mem::take(&mut shader.block_mut(block).insts);
    let mut it = Rewrite { shader, list: List::default() };
    for id in &old {
        let inst = it.shader.inst(*id);
        let access = inst.op.local().filter(|local| chosen[local.index()]).and_then(|_| Accessed::of(it.shader, inst));
        match access.filter(|access| access.count > 1) {
            Some(access) => it.access(*id, &access),
            None => it.list.push(*id),
        }
    }
    let Rewrite { shader, list } = it;
    let insts = &mut shader.block_mut(block).insts;
    *insts = old;
    insts.clear();
    insts.extend_from_slice(&list);
}

struct Rewrite<'a> {
    shader: &'a mut Shader,
    list: List<InstId>,
}

impl Rewrite<'_> {
    fn make(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        self.list.push(self.shader.add_inst(op, InstArgs::from_slice(args), Some(ty)));
        Value(self.shader.values.len() as u32 - 1)
    }

    fn number(&mut self, bits: u32) -> Value {
        self.make(Op::Const(bits.into()), &[], Type::B32)
    }

    fn select(&mut self, args: [Value; 3], ty: Type) -> Value {
        self.make(Op::Alu(AluOp::Select, FpFlags::NONE), &args, ty)
    }

    fn access(&mut self, id: InstId, access: &Accessed) {
        let (stored, result) = (self.shader.inst(id).args.get(1).copied(), self.shader.inst(id).result);
        let is_it: List<Value> = (0..access.count)
            .map(|n| {
                let wanted = self.number(access.first_index.wrapping_add(n));
                self.make(Op::Alu(AluOp::IEq, FpFlags::NONE), &[access.index, wanted], Type::B1)
            })
            .collect();
        let ty = access.ty.element();
        let mut lanes = List::<Value>::default();
        for lane in 0..access.ty.lanes() {
            let local = access.local;
            let align = Align::of_offset(ty.bytes().min(4));
            let new = stored.map(|stored| match access.ty.is_scalar() {
                true => stored,
                false => self.make(Op::Extract(lane as u8), &[stored], ty),
            });
            let mut found = None;
            for n in 0..access.count {
                let offset = self.number(access.first + n * access.step + lane * ty.bytes());
                let old = self.make(Op::LocalLoad { local, align }, &[offset], ty);
                match new {
                    Some(new) => {
                        let kept = self.select([is_it[n as usize], new, old], ty);
                        let store = self.shader.add_inst(
                            Op::LocalStore { local, align },
                            InstArgs::from_slice(&[offset, kept]),
                            None,
                        );
                        self.list.push(store);
                    }
                    None => {
                        found = Some(match found {
                            None => old,
                            Some(before) => self.select([is_it[n as usize], old, before], ty),
                        });
                    }
                }
            }
            lanes.extend(found);
        }
        if result.is_none() {
            return;
        }
        // The load becomes what composes its lanes.
        let inst = self.shader.inst_mut(id);
        match access.ty.is_scalar() {
            true => (inst.op, inst.args) = (Op::Bitcast, InstArgs::from_slice(&lanes)),
            false => (inst.op, inst.args) = (Op::Compose, InstArgs::from_slice(&lanes)),
        }
        self.list.push(id);
    }
}
