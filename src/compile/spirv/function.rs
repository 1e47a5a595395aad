//! Functions: the entry point's body, and every call inlined in place.
//!
//! A call's callee is translated into the caller's current block; its ids are forgotten before each call, since they
//! have new values each time. Returns go to a continuation block that takes the result as parameters; a function with
//! only one return needs none.
//!
//! The lanes that make a call together are together after it. Where control flow joins, that follows from the jumps;
//! but a return in a loop would leave each iteration's lanes on their own. So such a call is a selection that ends at the
//! continuation.

use super::cfg::{self, Header, SpirvCfg};
use super::contents::Place;
use super::cx::{Cx, Def, LeafValues, Pointer, SpirvInst, Storage, Ty};
use super::join::check;
use super::moved::{self, Rest};
use super::parse::{Parsed, SpirvFunction};
use super::types::{LeafTypes, MemoryLayout};
use super::{bfloat, control, inst, usage::Usage};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::verify::check_types;
use dovetail_ir::{BlockId, Merge, PerBlock, Terminator};
use rspirv::dr::Operand;
use spirv::Op;

/// Limit of instructions, at which inlining stops.
const MAX_INSTS: usize = 1 << 20;

/// Limit of nested constructs: the minimum that SPIR-V's universal limits require of an implementation. LLVM walks
/// nested loops by recursion, and some of its passes take time in the square of their depth.
const MAX_NESTING: u32 = 1023;

/// Destination of a function's returns.
#[derive(Debug)]
pub(super) enum Return {
    /// The shader's exit.
    Exit,
    /// The only return of the function: the block where it ends and the result, once it has been translated.
    Here(Option<(BlockId, Def)>),
    /// A continuation, with the result as its parameters.
    Join(BlockId, LeafTypes),
}

/// One function being translated.
pub(super) struct Frame<'m> {
    pub number: u32,
    pub cfg: SpirvCfg,
    pub function: SpirvFunction<'m>,
    /// By block: its first IR block; an unreachable block has one only if a header declares it.
    pub starts: PerBlock<Option<BlockId>>,
    /// By block: the number of values for its phis, which are the first parameters of its IR block.
    pub params: PerBlock<u32>,
    /// By block: the place at its end, once it has been translated.
    ends: PerBlock<Place>,
    pub ret: Return,
    /// The block being translated.
    pub current: usize,
    /// Number of constructs around that block, including those around the calls.
    pub nesting: u32,
}

/// Control flow of functions that were translated and may be called again, by number.
#[derive(Debug, Default)]
struct Cfgs(List<Option<SpirvCfg>>);

impl Cfgs {
    /// Takes the control flow of a function, until [`Self::put_back`]. A second caller cannot need it meanwhile, since
    /// no function calls itself.
    fn take(&mut self, n: usize, f: &SpirvFunction<'_>) -> Result<SpirvCfg> {
        match self.0.get_mut(n).and_then(Option::take) {
            Some(cfg) => Ok(cfg),
            None => SpirvCfg::of(f),
        }
    }

    fn put_back(&mut self, n: usize, cfg: SpirvCfg) {
        if self.0.len() <= n {
            self.0.resize_with(n + 1, || None);
        }
        if let Some(slot) = self.0.get_mut(n) {
            *slot = Some(cfg);
        }
    }
}

/// Translates the entry point's function and ends its paths at the exit block.
///
/// # Errors
/// Any error of its instructions.
pub(super) fn entry(cx: &mut Cx<'_>, usage: &Usage, id: u32) -> Result<()> {
    let Def::Function(n) = *cx.def(id)? else { return Err(Error::malformed(format!("%{id} is not a function"))) };
    let mut session = Session { usage, cfgs: Cfgs::default(), owners: owners(cx.module) };
    let Some(f) = cx.module.function(n as usize) else { return Err(Error::bug("function out of range")) };
    if f.blocks.is_empty() {
        return Err(f.def.malformed("a function without a body"));
    }
    let cfg = session.cfgs.take(n as usize, &f)?;
    translate(cx, &mut session, (n, cfg), Return::Exit, 0)?;
    Ok(())
}

/// State that all functions of a translation share, besides the context.
struct Session<'s> {
    usage: &'s Usage,
    cfgs: Cfgs,
    /// Function and block that define each id, by id.
    owners: Kept<Vec<Option<(u32, u32)>>>,
}

fn owners(module: &Parsed<'_>) -> Kept<Vec<Option<(u32, u32)>>> {
    let mut owners = filled(module.bound as usize, None);
    let mut own = |id: Option<u32>, by: (u32, u32)| {
        if let Some(slot) = id.and_then(|id| owners.get_mut(id as usize)) {
            *slot = Some(by);
        }
    };
    for (f, n) in module.functions().zip(0..) {
        f.params.iter().for_each(|p| own(p.result_id, (n, 0)));
        for (b, at) in f.blocks.iter().zip(0..) {
            f.insts_of(b).iter().for_each(|i| own(i.result_id, (n, at)));
        }
    }
    owners
}

impl Session<'_> {
    /// A value must be defined on every path to its use in the current block (for a phi: in the predecessor).
    fn check_use(&self, frame: &Frame<'_>, id: u32) -> Result<()> {
        match self.owners.get(id as usize).copied().flatten() {
            None => Ok(()),
            Some((f, b)) if f == frame.number && frame.cfg.dominates(b as usize, frame.current) => Ok(()),
            Some(_) => Err(Error::malformed(format!("%{id} is not made on every path to this use"))),
        }
    }

    fn check_uses(&self, frame: &Frame<'_>, at: &SpirvInst<'_>) -> Result<()> {
        if at.op() != Op::Phi {
            for operand in at.operands {
                if let Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id) = operand {
                    self.check_use(frame, *id)?;
                }
            }
        }
        if control::is_terminator(at.op()) {
            let mut labels = cfg::targets(*at).collect::<Result<List<u32>>>()?;
            labels.sort_unstable();
            labels.dedup();
            for &label in &labels {
                let Some(to) = frame.function.blocks.get(frame.cfg.target(label)?) else { continue };
                let phis = frame.function.insts_of(to).iter().take_while(|i| i.op() == Op::Phi);
                let from = frame.function.blocks.get(frame.current).map_or(0, |b| b.label);
                for phi in phis {
                    self.check_use(frame, frame.cfg.incoming(&phi, from)?)?;
                }
            }
        }
        Ok(())
    }
}

/// Translates an `OpFunctionCall`.
fn call(cx: &mut Cx<'_>, session: &mut Session<'_>, at: &SpirvInst<'_>, nesting: u32) -> Result<()> {
    let Def::Function(n) = *cx.def(at.id(0)?)? else { return Err(at.malformed("not a function")) };
    let module = cx.module;
    let Some(f) = module.function(n as usize) else { return Err(Error::bug("function out of range")) };
    if at.ids_from(1).count() != f.params.len() {
        return Err(at.malformed("wrong number of arguments"));
    }
    if f.blocks.is_empty() {
        return Err(at.unsupported("of an imported function"));
    }
    // Arguments are read before the callee's ids are forgotten.
    let mut args = List::default();
    for id in at.ids_from(1) {
        args.push(argument(cx, id?)?);
    }
    for inst in f.insts() {
        cx.spend(1)?;
        if let Some(id) = inst.result_id {
            cx.forget(id);
        }
    }
    for (param, def) in f.params.iter().zip(args.drain(..)) {
        let param = param.result()?;
        cx.define(param, def);
        cx.mark_non_uniform(param)?;
    }
    let cfg = session.cfgs.take(n as usize, &f)?;
    let ty = cx.result_type(at)?;
    let result = at.result()?;
    let ret = match cfg.returns {
        1 => Return::Here(None),
        _ if cx.is_known_pointer(ty) => return Err(at.unsupported("several returns of a pointer")),
        _ => {
            let types = cx.types.leaf_types(ty)?;
            let block = cx.b.new_block();
            types.iter().for_each(|t| _ = cx.b.shader.add_param(block, *t));
            Return::Join(block, types)
        }
    };
    let before = cx.contents.here();
    let end = match &ret {
        _ if !cfg.returns_in_loop => None,
        Return::Join(block, _) => Some(*block),
        Return::Here(_) | Return::Exit => Some(cx.b.new_block()),
    };
    if let Some(end) = end {
        begin(cx, end);
    }
    let returned = translate(cx, session, (n, cfg), ret, nesting)?;
    if cx.contents.here() != before {
        cx.contents.enter(before, false);
    }
    match returned {
        Return::Here(Some((block, returned))) => {
            cx.b.switch_to(block);
            if let Some(end) = end {
                cx.b.jump(end, &[]);
                cx.b.switch_to(end);
            }
            cx.define(result, returned);
        }
        Return::Join(block, _) => {
            cx.b.switch_to(block);
            let params = LeafValues::from_slice(&cx.b.shader.block(block).params);
            cx.set(result, params);
        }
        Return::Exit | Return::Here(None) => return Err(Error::bug("a call that does not return to its caller")),
    }
    Ok(())
}

/// Begins a selection that ends at this block. The current block may be the header of another construct.
fn begin(cx: &mut Cx<'_>, end: BlockId) {
    let (header, body) = (cx.b.new_block(), cx.b.new_block());
    cx.b.jump(header, &[]);
    cx.b.switch_to(header);
    cx.b.set_merge(Merge::Selection(end));
    cx.b.jump(body, &[]);
    cx.b.switch_to(body);
}

/// Definition of an argument in the callee: a copy of the caller's.
fn argument(cx: &mut Cx<'_>, id: u32) -> Result<Def> {
    match cx.def(id)? {
        // A late constant is passed as plain values: the callee may ask whether its parameter is a constant.
        Def::Constant(_) if cx.is_late(id) => {
            let values = cx.values(id)?;
            Ok(cx.values_def(&values))
        }
        def @ (Def::Values(_) | Def::Pointer(_) | Def::Constant(_)) => Ok(*def),
        _ => Err(Error::malformed(format!("%{id} is not an argument"))),
    }
}

/// Translates a function's body from the current block on, nested in `outer` constructs.
fn translate(
    cx: &mut Cx<'_>,
    session: &mut Session<'_>,
    (n, cfg): (u32, SpirvCfg),
    ret: Return,
    outer: u32,
) -> Result<Return> {
    let module = cx.module;
    let Some(f) = module.function(n as usize) else { return Err(Error::bug("function out of range")) };
    let mut frame = Frame {
        number: n,
        function: f,
        starts: filled(f.blocks.len(), None),
        params: filled(f.blocks.len(), 0),
        ends: filled(f.blocks.len(), Place::default()),
        ret,
        current: 0,
        nesting: outer,
        cfg,
    };
    prepare(cx, &mut frame)?;
    for at in 0..frame.cfg.order.len() {
        let Some(&n) = frame.cfg.order.get(at) else { break };
        let (Some(block), Some(Some(start))) = (f.blocks.get(n), frame.starts.get(n)) else { continue };
        cx.b.switch_to(*start);
        // The first block goes on where the call is.
        if let Some(above) = frame.cfg.parent(n).and_then(|above| frame.ends.get(above)) {
            cx.contents.enter(*above, frame.cfg.repeats.get(n).copied().unwrap_or(true));
        }
        frame.current = n;
        frame.nesting = outer + frame.cfg.nesting.get(n).copied().unwrap_or(0);
        if frame.nesting > MAX_NESTING {
            let place = format!("block %{}", block.label);
            let what =
                Error::unsupported("control-flow nesting", format!("over {MAX_NESTING} constructs in each other"));
            return Err(what.at(place));
        }
        let insts = f.insts_of(block);
        for (at, done) in insts.iter().zip(1..) {
            let at = &at;
            let before = cx.b.shader.insts.len();
            one(cx, session, &mut frame, at, Rest { insts, done })?;
            // Translators check only the operands they branch on; the types of all others are checked here, in one
            // place. An inlined call was checked inside already.
            if at.op() != Op::FunctionCall {
                check_types(&*cx.b.shader, before).map_err(|why| at.malformed(why))?;
            }
            cx.spend(0)?;
            if cx.b.shader.insts.len() > MAX_INSTS {
                return Err(Error::unsupported("shader size", format!("over {MAX_INSTS} instructions after inlining")));
            }
        }
        if let Some(end) = frame.ends.get_mut(n) {
            *end = cx.contents.here();
        }
    }
    session.cfgs.put_back(n as usize, frame.cfg);
    Ok(frame.ret)
}

/// Makes the IR blocks, with parameters for phis.
fn prepare(cx: &mut Cx<'_>, frame: &mut Frame<'_>) -> Result<()> {
    let cfg = &frame.cfg;
    let first = cx.b.block();
    let declared = cfg.order.iter().filter_map(|n| cfg.headers.get(*n).copied().flatten()).flat_map(|h| match h {
        Header::Selection(merge) => [merge, merge],
        Header::Loop(merge, next) => [merge, next],
    });
    for n in cfg.order.iter().copied().chain(declared) {
        if let Some(slot @ None) = frame.starts.get_mut(n) {
            *slot = Some(if n == 0 { first } else { cx.b.new_block() });
        }
    }
    let function = frame.function;
    for (n, block) in function.blocks.iter().enumerate() {
        let Some(Some(start)) = frame.starts.get(n).copied() else { continue };
        if !cfg.reachable.get(n).copied().unwrap_or(false) {
            // Kept only because a header names it.
            cx.b.shader.block_mut(start).end.set(Terminator::Unreachable);
            continue;
        }
        for phi in function.insts_of(block).iter().take_while(|i| i.op() == Op::Phi) {
            let ty = cx.result_type(&phi)?;
            if cx.is_known_pointer(ty) {
                continue;
            }
            let types = cx.types.leaf_types(ty)?;
            let values: LeafValues = types.iter().map(|t| cx.b.shader.add_param(start, *t)).collect();
            if let Some(params) = frame.params.get_mut(n) {
                *params += types.len() as u32;
            }
            cx.set(phi.result()?, values);
        }
        if n == 0 && frame.params.first().is_some_and(|params| *params > 0) {
            return Err(Error::malformed("OpPhi in a function's first block"));
        }
    }
    Ok(())
}

fn one(
    cx: &mut Cx<'_>,
    session: &mut Session<'_>,
    frame: &mut Frame<'_>,
    at: &SpirvInst<'_>,
    rest: Rest<'_>,
) -> Result<()> {
    session.check_uses(frame, at).map_err(|e| e.at(at.place()))?;
    bfloat::check(cx, at)?;
    match at.op() {
        Op::FunctionCall => call(cx, session, at, frame.nesting)
            .and_then(|()| at.result().and_then(|result| moved::returned(cx, session.usage, rest, result))),
        Op::Load if moved::load(cx, session.usage, rest, at).map_err(|e| e.at(at.place()))? => Ok(()),
        Op::Variable => variable(cx, session, at),
        Op::Phi => Ok(()),
        Op::SelectionMerge | Op::LoopMerge => {
            set_merge(cx, frame);
            Ok(())
        }
        op if control::is_terminator(op) => control::translate(cx, frame, at),
        _ => inst::translate(cx, at),
    }
    .map_err(|e| e.at(at.place()))?;
    at.result_id.map_or(Ok(()), |id| cx.mark_non_uniform(id))
}

/// A loop's structure belongs to the block that iterations jump to, a selection's to the one that branches.
fn set_merge(cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let start = |n: usize| frame.starts.get(n).copied().flatten();
    match frame.cfg.headers.get(frame.current).copied().flatten() {
        Some(Header::Selection(merge)) => {
            if let Some(merge) = start(merge) {
                cx.b.set_merge(Merge::Selection(merge));
            }
        }
        Some(Header::Loop(merge, next)) => {
            if let (Some(header), Some(merge), Some(continue_to)) = (start(frame.current), start(merge), start(next)) {
                cx.b.shader.block_mut(header).merge = Merge::Loop { merge, continue_to };
            }
        }
        None => {}
    }
}

fn variable(cx: &mut Cx<'_>, session: &Session<'_>, at: &SpirvInst<'_>) -> Result<()> {
    let id = at.result()?;
    let Ty::Pointer { class: spirv::StorageClass::Function, pointee, .. } = *cx.types.get(cx.result_type(at)?) else {
        return Err(at.malformed("not a function variable"));
    };
    if cx.is_known_pointer(pointee) {
        return Err(at.unsupported("holding a pointer"));
    }
    if let Some(table) = session.usage.constant_table(cx, id)? {
        cx.set_pointer(id, Pointer::new(Storage::Table(table), pointee, MemoryLayout::PACKED));
        return Ok(());
    }
    let local = cx.new_local(id, pointee)?;
    let place = match cx.types.is_handle(pointee) {
        true => Storage::Handle { local, once: session.usage.is_stored_once(id) },
        false => Storage::Local(local),
    };
    let pointer = Pointer::new(place, pointee, MemoryLayout::PACKED);
    if let Some(init) = at.opt_id(1)? {
        let values = cx.values(init)?;
        cx.store(&pointer, &values, Default::default())?;
    }
    cx.set_pointer(id, pointer);
    Ok(())
}

impl Return {
    /// Ends the current block with a return.
    pub(super) fn emit(&mut self, cx: &mut Cx<'_>, at: &SpirvInst<'_>) -> Result<()> {
        let value = match at.op() {
            Op::ReturnValue => Some(at.id(0)?),
            _ => None,
        };
        match self {
            Self::Exit => {
                cx.contents.leave();
                cx.b.jump(cx.exit, &[]);
            }
            Self::Here(slot) => {
                let returned = match value {
                    Some(id) if matches!(cx.def(id)?, Def::Pointer(_) | Def::Moved(_)) => *cx.def(id)?,
                    Some(id) => {
                        let values = cx.values(id)?;
                        cx.values_def(&values)
                    }
                    None => cx.values_def(&[]),
                };
                *slot = Some((cx.b.block(), returned));
            }
            Self::Join(block, types) => {
                let values = match value {
                    Some(id) => cx.values(id)?,
                    None => LeafValues::new(),
                };
                check(cx, &values, types).map_err(|e| e.at(at.place()))?;
                cx.b.jump(*block, &values);
            }
        }
        Ok(())
    }
}
