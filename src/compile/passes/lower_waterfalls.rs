//! Makes every descriptor uniform for the wave, because the hardware takes descriptors only from scalar registers. A
//! descriptor that may differ between lanes gets a waterfall loop.
//!
//! | descriptor | result |
//! | --- | --- |
//! | computed from scalar registers and read-only memory ([`WaveWide`]) | unchanged |
//! | the same for all active lanes, by control flow ([`Uniformity`]) | read from the first lane |
//! | any other | read from the first lane, in a loop |
//!
//! ```text
//! header: first = root of the first lane          body: result = access by descriptor(hidden)
//!         hidden = opaque(first)                        jump join(result)
//!         same = root == first                    join: leave = opaque(same)
//!         branch same, body, join(undefined)            branch leave, after, latch
//!                                                 latch: jump header
//! ```
//!
//! Each iteration does the access for all lanes that have the first lane's descriptor; these lanes then leave the loop. The
//! comparison does not use the descriptor of up to twelve dwords but the values it is computed from, usually one index; the
//! body then loads the descriptor through the scalar cache.
//!
//! The access must stay in the loop: only there is `first` the same for all active lanes; after the loop the lanes of all
//! iterations are active. [`Op::Opaque`] keeps it there. Without the opaque `leave`, an optimisation could let `body` branch to
//! `after` directly, which moves it out of the loop; without `hidden`, one could replace it by the equal `root`.
//!
//! After the pass no access is `non_uniform`, and the verifier requires [`WaveWide`] descriptors.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{Kept, List, take};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::wave_wide::{WaveWide, is_of_wave};
use dovetail_ir::{
    AluOp, AmdOp, Bits, BlockCall, BlockId, Builder, Inst, LaneOp, Merge, Op, Shader, Terminator, Type, Value,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Limits for the operations that a descriptor is computed by: length of a chain, and total.
const MOST_DEPTH: u32 = 16;
const MOST_STEPS: u32 = 64;
/// Cost of a dword that a loop compares; a dword that is only read from a lane costs 1.
const COMPARED: u32 = 64;

/// Makes every descriptor uniform for the wave.
///
/// # Errors
/// Unsupported: a loop is needed in a shader with irreducible cycles.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if !shader.has(|op| op.descriptors() > 0) {
        return Ok(());
    }
    let wide = WaveWide::new(shader);
    let cfg = shader.cfg();
    // By instruction in order: the block of an access whose descriptor must be read from a lane.
    let mut wanted = List::<Option<BlockId>>::default();
    let mut declared = false;
    let mut before = 0;
    for id in shader.block_ids() {
        for (n, inst) in (before..).zip(shader.block(id).insts.iter().map(|id| shader.inst(*id))) {
            declared |= inst.op.descriptor_access().is_some_and(|access| access.non_uniform);
            let differs = inst.args[..inst.op.descriptors()].iter().any(|v| !wide.holds(*v, id));
            if differs && cfg.reachable(id) {
                wanted.resize(n, None);
                wanted.push(Some(id));
            }
        }
        before += shader.block(id).insts.len();
    }
    if declared {
        forget_declarations(shader);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let uniformity = Uniformity::of(shader);
    let mut roots = Roots {
        uniformity: &uniformity,
        wide: &wide,
        known: shader.values.len(),
        before: take(),
        block: Shader::ENTRY,
        steps: 0,
        made: List::default(),
    };
    let loops = cfg.loops().are_all();
    let mut wanted = wanted.iter().copied();
    rewrite(shader, |b, inst| match wanted.next().flatten() {
        Some(block) => roots.access(b, inst, block, loops),
        None => Ok(Rewrite::Keep),
    })
}

/// Removes the `non_uniform` flags of the module, which are no longer needed.
fn forget_declarations(shader: &mut Shader) {
    for inst in &mut shader.insts {
        if let Some(access) = inst.op.descriptor_access_mut() {
            access.non_uniform = false;
        }
    }
}

/// Finds the values that determine a descriptor.
struct Roots<'a> {
    uniformity: &'a Arc<Uniformity>,
    wide: &'a WaveWide,
    /// Number of values that the analyses cover.
    known: usize,
    /// Results of accesses that were rebuilt without a loop, with the value that the analyses know.
    before: Kept<FxHashMap<Value, Value>>,
    /// The block of the access at the time of the analyses.
    block: BlockId,
    steps: u32,
    /// The origins of its descriptors: each value before the operands that it is computed from.
    made: List<Made>,
}

/// The origin of a value.
#[derive(Clone, Copy)]
enum Made {
    /// It is uniform for the wave.
    Wide,
    /// It is read from the first lane; `differs`: other lanes may have another value.
    Root { differs: bool },
    /// It is computed from its operands.
    Computed,
}

type Reads = SmallVec<[Read; 4]>;

/// A root with its value in the first lane.
struct Read {
    root: Value,
    differs: bool,
    first: Option<Value>,
}

impl Roots<'_> {
    fn access(&mut self, b: &mut Builder<'_>, inst: &Inst, block: BlockId, loops: bool) -> Result<Rewrite> {
        (self.block, self.steps) = (block, 0);
        self.made.clear();
        let descriptors = &inst.args[..inst.op.descriptors()];
        for v in descriptors {
            self.origin(b, *v, MOST_DEPTH);
        }
        let mut reads = Reads::new();
        let mut made = self.made.iter();
        descriptors.iter().for_each(|v| gather(b.shader, &mut made, *v, &mut reads));
        let differs = reads.iter().any(|read| read.differs);
        if differs && !loops {
            return Err(Error::unsupported(
                "descriptors that differ between lanes in a shader with irreducible cycles",
                "",
            ));
        }
        let ty = inst.result.map(|v| b.ty(v));
        if differs {
            return Ok(around(b, inst, &self.made, reads, ty));
        }
        let result = access_by(b, inst, &self.made, reads, ty);
        self.before.extend(result.zip(inst.result));
        Ok(result.map_or(Rewrite::Remove, Rewrite::Value))
    }

    /// Appends the cheapest way to make a value uniform, and returns its cost; `None`: it cannot be read from a lane.
    fn origin(&mut self, b: &Builder<'_>, v: Value, depth: u32) -> Option<u32> {
        let analysed = Some(self.before.get(&v).copied().unwrap_or(v)).filter(|v| v.index() < self.known);
        if analysed.is_some_and(|v| self.wide.holds(v, self.block)) {
            self.made.push(Made::Wide);
            return Some(0);
        }
        let differs = !analysed.is_some_and(|v| self.uniformity.is_uniform_in(v, self.block));
        let ty = b.ty(v);
        let dwords = (ty.bits() == Bits::B32 || ty == Type::B64).then(|| ty.total_bits() / 32);
        let own = dwords.map(|n| if differs { n * COMPARED } else { n });
        let place = self.made.len();
        self.made.push(Made::Root { differs });
        self.steps += 1;
        let inst = b.shader.def(v).filter(|inst| depth > 0 && self.steps < MOST_STEPS && is_repeatable(&inst.op));
        let Some(inst) = inst else { return own };
        // The operands that are not uniform for the wave.
        let mut others = 0;
        let mut deep = Some(0);
        for arg in &inst.args {
            let first = self.made.len();
            let cost = self.origin(b, *arg, depth - 1);
            others += usize::from(!matches!(self.made.get(first), Some(Made::Wide)));
            deep = deep.zip(cost).map(|(deep, cost)| deep + cost);
        }
        let is_root = match (deep, own) {
            (Some(deep), Some(own)) => deep > own || deep == own && !(others == 1 && is_address(&inst.op)),
            (deep, _) => deep.is_none(),
        };
        if is_root {
            self.made.truncate(place + 1);
            return own;
        }
        self.made[place] = Made::Computed;
        deep
    }
}

/// Whether an operation of one operand that is not uniform maps different operands to different results, as address
/// arithmetic does: comparing the operand then costs no additional iteration, and an image and its sampler have one root.
/// With other operations, lanes with the same descriptor may have different operands and would get an iteration each.
fn is_address(op: &Op) -> bool {
    matches!(op, Op::Alu(AluOp::IAdd | AluOp::IMul | AluOp::Shl, _))
}

/// Whether an operation can be repeated at the access: it depends only on its operands.
fn is_repeatable(op: &Op) -> bool {
    is_of_wave(op) && !matches!(op, Op::BufferLoad { .. } | Op::Opaque)
}

/// Collects the roots of a value, each once. The next items of `made` are its origin.
fn gather<'m>(shader: &Shader, made: &mut impl Iterator<Item = &'m Made>, v: Value, out: &mut Reads) {
    match made.next() {
        Some(Made::Root { .. }) if out.iter().any(|read| read.root == v) => {}
        Some(Made::Root { differs }) => out.push(Read { root: v, differs: *differs, first: None }),
        Some(Made::Computed) => {
            let args = shader.def(v).map(|inst| inst.args.as_slice()).unwrap_or_default();
            args.iter().for_each(|v| gather(shader, made, *v, out));
        }
        Some(Made::Wide) | None => {}
    }
}

/// Emits the access in a loop.
fn around(b: &mut Builder<'_>, inst: &Inst, made: &[Made], mut reads: Reads, ty: Option<Type>) -> Rewrite {
    let [header, body, join, latch, after] = [(); 5].map(|()| b.new_block());
    b.jump(header, &[]);
    b.switch_to(header);
    b.set_merge(Merge::Loop { merge: after, continue_to: latch });
    let mut same = None;
    for read in reads.iter_mut().filter(|read| read.differs) {
        let ty = b.ty(read.root);
        let first = b.value(Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)), &[read.root], ty);
        read.first = Some(b.value(Op::Opaque, &[first], ty));
        for (own, other) in words(b, read.root).into_iter().zip(words(b, first)) {
            let equal = b.alu(AluOp::IEq, &[own, other]);
            same = Some(same.map_or(equal, |same| b.alu(AluOp::IAnd, &[same, equal])));
        }
    }
    let same = same.unwrap_or_else(|| b.cbool(true));
    let nothing = ty.map(|ty| b.undef(ty));
    let (then, els) = (BlockCall::to(body), BlockCall { block: join, args: nothing.as_slice() });
    b.terminate(Terminator::Branch { cond: same, then, els });

    b.switch_to(body);
    let result = access_by(b, inst, made, reads, ty);
    b.jump(join, result.as_slice());

    b.switch_to(join);
    let result = ty.map(|ty| b.shader.add_param(join, ty));
    let leave = b.value(Op::Opaque, &[same], Type::B1);
    b.branch(leave, after, latch);
    b.switch_to(latch);
    b.jump(header, &[]);
    b.switch_to(after);
    result.map_or(Rewrite::Remove, Rewrite::Value)
}

/// Emits the access for the lanes whose roots equal those of the first lane.
fn access_by(b: &mut Builder<'_>, inst: &Inst, made: &[Made], mut reads: Reads, ty: Option<Type>) -> Option<Value> {
    for read in reads.iter_mut().filter(|read| read.first.is_none()) {
        read.first = Some(b.value(Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)), &[read.root], b.ty(read.root)));
    }
    let mut args = inst.args.clone();
    let mut made = made.iter();
    for arg in args.iter_mut().take(inst.op.descriptors()) {
        *arg = again(b, &mut made, *arg, &reads);
    }
    let id = b.push(inst.op.clone(), args, ty);
    b.shader.inst(id).result
}

/// Repeats a value with the roots of the first lane. The next items of `made` are its origin.
fn again<'m>(b: &mut Builder<'_>, made: &mut impl Iterator<Item = &'m Made>, v: Value, reads: &[Read]) -> Value {
    match made.next() {
        Some(Made::Root { .. }) => reads.iter().find(|read| read.root == v).and_then(|read| read.first).unwrap_or(v),
        Some(Made::Computed) => {
            let Some(mut inst) = b.shader.def(v).cloned() else { return v };
            inst.args.iter_mut().for_each(|v| *v = again(b, made, *v, reads));
            b.value(inst.op, &inst.args, b.ty(v))
        }
        Some(Made::Wide) | None => v,
    }
}

/// Dwords of a value.
fn words(b: &mut Builder<'_>, v: Value) -> SmallVec<[Value; 4]> {
    let pair = Type::vector(Bits::B32, 2).filter(|_| b.ty(v) == Type::B64);
    let v = pair.map_or(v, |pair| b.bitcast(v, pair));
    b.split(v)
}
