//! Shrinks a failing shader while it still fails in the same way.
//!
//! Each step changes a copy: its setup, the targets of branches, instructions, operands. A copy that does not fail in
//! the same way, or that the verifier rejects, is discarded.

use super::setup::Setup;
use dovetail::compile::phases::{Phase, Phases};
use dovetail::ir::parse::parse;
use dovetail::ir::{BlockCall, BlockId, InstArgs, Merge, Op, Shader, Terminator, Value, ValueDef};
use dovetail::target::Gpu;
use std::time::{Duration, Instant};

/// Time after which no new attempt starts.
const PATIENCE: Duration = Duration::from_secs(25);

/// A smaller input for which `how` returns the same.
pub fn shrink(input: &[u8], how: &dyn Fn(&[u8]) -> Option<String>) -> Vec<u8> {
    let text = String::from_utf8_lossy(input).into_owned();
    let (Ok(setup), Ok(shader), Some(what)) = (Setup::of(&text), parse(&text), how(input)) else {
        return input.to_vec();
    };
    let mut search = Search { setup, shader, what: kind(&what), how, end: Instant::now() + PATIENCE };
    loop {
        let before = search.text();
        search.round();
        if search.text() == before {
            return before;
        }
    }
}

/// A message without numbers, registers and instructions.
fn kind(what: &str) -> String {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '(' | ')' | ',' | ':' | ';'));
    what.split(' ').filter(plain).collect::<Vec<_>>().join(" ")
}

struct Search<'a> {
    setup: Setup,
    shader: Shader,
    what: String,
    how: &'a dyn Fn(&[u8]) -> Option<String>,
    end: Instant,
}

fn text(setup: &Setup, shader: &Shader) -> Vec<u8> {
    format!("{}\n{shader}", setup.line()).into_bytes()
}

impl Search<'_> {
    fn text(&self) -> Vec<u8> {
        text(&self.setup, &self.shader)
    }

    fn attempt(&mut self, setup: Setup, shader: Shader) -> bool {
        if Instant::now() > self.end || (setup == self.setup && shader.to_string() == self.shader.to_string()) {
            return false;
        }
        let same = (self.how)(&text(&setup, &shader)).is_some_and(|what| kind(&what) == self.what);
        if same {
            (self.setup, self.shader) = (setup, shader);
        }
        same
    }

    fn change(&mut self, change: impl FnOnce(&mut Shader)) -> bool {
        let mut shader = self.shader.clone();
        change(&mut shader);
        tidy(&mut shader);
        self.attempt(self.setup.clone(), shader)
    }

    fn round(&mut self) {
        let setups: [fn(&mut Setup); 11] = [
            |s| s.gpu = Gpu::Gfx1030,
            |s| s.passes.clear(),
            |s| s.without = Phases::default(),
            |s| s.vgprs = 0,
            |s| s.groups = 1,
            |s| (s.known, s.whole) = (false, false),
            |s| s.whole = false,
            |s| s.chained = false,
            |s| s.scene.iter_mut().for_each(|scene| scene.leave_out(true)),
            |s| s.scene.iter_mut().for_each(|scene| scene.leave_out(false)),
            |s| s.without = Phase::ALL.iter().copied().collect(),
        ];
        for set in &setups[..10 + usize::from(self.setup.without.iter().count() < 3)] {
            let mut setup = self.setup.clone();
            set(&mut setup);
            if setup != self.setup {
                self.attempt(setup, self.shader.clone());
            }
        }
        self.change(|_| ());
        for block in self.shader.block_ids().collect::<Vec<_>>() {
            let count = self.shader.block(block).calls().count();
            for n in (0..count).rev().filter(|_| count > 1) {
                if self.change(|s| goes_to(s, block, n)) {
                    break;
                }
            }
        }
        // Try groups of instructions first, then single ones.
        for size in [32, 8, 1] {
            let mut at = self.shader.live_insts().count();
            while at > 0 {
                at = at.saturating_sub(size);
                self.change(|s| remove(s, at, size));
            }
        }
        for n in 0..self.shader.values.len() {
            let value = Value(n as u32);
            let address = addresses(&self.shader)[n];
            let Some(inst) = self.shader.def(value) else { continue };
            let ty = self.shader.ty(value);
            // Descriptors cannot replace other values.
            let data = |v: &Value| !matches!(self.shader.def(*v).map(|i| &i.op), Some(Op::Descriptor { .. }));
            let fits = |v: &Value| !address && self.shader.ty(*v) == ty && data(v);
            let operands: Vec<Value> = inst.args.iter().copied().filter(fits).collect();
            for operand in operands {
                if self.change(|s| replace(s, value, operand)) {
                    break;
                }
            }
            let constant = |s: &mut Shader, bits: u64| {
                if let ValueDef::Inst(id) = s.values[n].def {
                    let inst = s.inst_mut(id);
                    inst.op = Op::Const(bits);
                    inst.args = InstArgs::new();
                }
            };
            if ty.is_scalar() && !matches!(self.shader.def(value).map(|i| &i.op), Some(Op::Const(_))) {
                let _ = self.change(|s| constant(s, 0)) || !address && self.change(|s| constant(s, 1));
            }
        }
        for block in self.shader.block_ids().collect::<Vec<_>>() {
            for n in (0..self.shader.block(block).params.len()).rev() {
                self.change(|s| without_param(s, block, n));
            }
        }
    }
}

/// Values that offsets and addresses are computed from: without their masks they would leave the range or lose the
/// alignment.
fn addresses(shader: &Shader) -> Vec<bool> {
    let mut found = vec![false; shader.values.len()];
    for inst in shader.live_insts() {
        let addresses = match inst.op {
            Op::BufferLoad { .. } | Op::BufferStore { .. } | Op::BufferAtomic { .. } => 0..2,
            Op::LocalLoad { .. } | Op::LocalStore { .. } | Op::ConstLoad { .. } | Op::GlobalLoad { .. } => 0..1,
            Op::SharedLoad { .. } | Op::SharedStore { .. } | Op::SharedAtomic(_) | Op::GlobalStore { .. } => 0..1,
            Op::GlobalAtomic { .. } | Op::PushConstant { .. } | Op::Descriptor { .. } => 0..1,
            _ => continue,
        };
        inst.args[addresses].iter().for_each(|v| found[v.index()] = true);
    }
    loop {
        let before = found.iter().filter(|f| **f).count();
        for inst in shader.live_insts().filter(|inst| matches!(inst.op, Op::Alu(..))) {
            if inst.result.is_some_and(|v| found[v.index()]) {
                inst.args.iter().for_each(|v| found[v.index()] = true);
            }
        }
        if found.iter().filter(|f| **f).count() == before {
            break;
        }
    }
    // Values that an attachment cannot represent are undefined, so the mask before an output stays.
    for inst in shader.live_insts().filter(|inst| matches!(inst.op, Op::StoreOutput { .. })) {
        stored(shader, inst.args[0], 4, &mut found);
    }
    found
}

/// Marks an output and the instructions that compute it, a few levels up, also through the parameters of the return
/// block.
fn stored(shader: &Shader, value: Value, most: u32, found: &mut [bool]) {
    found[value.index()] = true;
    let ValueDef::Param(block, n) = shader.values[value.index()].def else {
        let made = shader.def(value).filter(|inst| most > 0 && matches!(inst.op, Op::Alu(..)));
        made.iter().flat_map(|inst| &inst.args).for_each(|v| stored(shader, *v, most - 1, found));
        return;
    };
    if most == 0 {
        return;
    }
    for block_of_call in shader.blocks.iter() {
        let passed =
            block_of_call.calls().filter(|call| call.block == block).filter_map(|call| call.args.get(n as usize));
        passed.for_each(|v| stored(shader, *v, most - 1, found));
    }
}

/// Replaces a branch by its n-th jump.
fn goes_to(shader: &mut Shader, block: BlockId, n: usize) {
    let block = shader.block_mut(block);
    if n < block.calls().count() {
        block.end.keep_call(n);
        block.merge = Merge::None;
    }
}

/// Removes instructions without results, or with unused ones.
fn remove(shader: &mut Shader, first: usize, count: usize) {
    let used = uses(shader);
    let mut n = 0;
    for block in shader.block_ids().collect::<Vec<_>>() {
        let kept = shader.block(block).insts.iter().copied().filter(|id| {
            n += 1;
            let wanted = shader.inst(*id).result.is_some_and(|v| used[v.index()]);
            wanted || !(first..first + count).contains(&(n - 1))
        });
        let kept = kept.collect();
        shader.block_mut(block).insts = kept;
    }
}

fn uses(shader: &Shader) -> Vec<bool> {
    let mut used = vec![false; shader.values.len()];
    shader.live_insts().flat_map(|inst| &inst.args).for_each(|v| used[v.index()] = true);
    for block in shader.blocks.iter() {
        block.end.values().iter().for_each(|v| used[v.index()] = true);
    }
    used
}

fn replace(shader: &mut Shader, from: Value, to: Value) {
    for block in shader.block_ids().collect::<Vec<_>>() {
        for id in shader.block(block).insts.clone() {
            shader.inst_mut(id).args.iter_mut().filter(|v| **v == from).for_each(|v| *v = to);
        }
        shader.block_mut(block).end.values_mut().iter_mut().filter(|v| **v == from).for_each(|v| *v = to);
    }
}

/// Removes a block parameter, replacing it by the value passed to it.
fn without_param(shader: &mut Shader, block: BlockId, n: usize) {
    let param = shader.block(block).params[n];
    let mut passed: Vec<Value> = Vec::new();
    for from in shader.block_ids().collect::<Vec<_>>() {
        passed.extend(shader.block(from).calls().filter(|call| call.block == block).map(|call| call.args[n]));
    }
    passed.retain(|v| *v != param);
    passed.dedup();
    if let Some(other) = passed.first() {
        replace(shader, param, *other);
    }
    shader.block_mut(block).params.remove(n);
    for (k, param) in shader.block(block).params.clone().into_iter().enumerate() {
        shader.values[param.index()].def = ValueDef::Param(block, k as u32);
    }
    for from in shader.block_ids().collect::<Vec<_>>() {
        shader.block_mut(from).end.retain_args(|to, k| to != block || k != n);
    }
}

/// Empties unreachable blocks, merges blocks with a single predecessor, removes unused pure values.
fn tidy(shader: &mut Shader) {
    let cfg = shader.cfg();
    for block in shader.block_ids().collect::<Vec<_>>() {
        if !cfg.reachable(block) {
            let block = shader.block_mut(block);
            block.insts.clear();
            block.merge = Merge::None;
            block.end.set(Terminator::Unreachable);
        }
    }
    for block in shader.block_ids().collect::<Vec<_>>() {
        while let Some(Terminator::Jump(BlockCall { block: to, args })) = shader.block(block).term() {
            let args = args.to_vec();
            let from: Vec<BlockId> = shader.cfg().preds(to).to_vec();
            let named = shader.blocks.iter().any(|b| match b.merge {
                Merge::None => false,
                Merge::Selection(m) => m == to,
                Merge::Loop { merge, continue_to } => merge == to || continue_to == to,
            });
            if from != [block] || to == block || named || shader.block(block).merge != Merge::None {
                break;
            }
            let params = std::mem::take(&mut shader.block_mut(to).params);
            for (param, arg) in params.into_iter().zip(args) {
                replace(shader, param, arg);
            }
            let taken = std::mem::take(shader.block_mut(to));
            let into = shader.block_mut(block);
            into.insts.extend(taken.insts);
            into.end = taken.end;
            into.merge = taken.merge;
            shader.block_mut(to).end.set(Terminator::Unreachable);
        }
    }
    loop {
        let used = uses(shader);
        let mut gone = false;
        for block in shader.block_ids().collect::<Vec<_>>() {
            let keeps = |id: &dovetail::ir::InstId| {
                let inst = shader.inst(*id);
                let pure = matches!(
                    inst.op,
                    Op::Const(_) | Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast | Op::Descriptor { .. }
                );
                !pure || inst.result.is_some_and(|v| used[v.index()])
            };
            let kept: Vec<_> = shader.block(block).insts.iter().copied().filter(keeps).collect();
            gone |= kept.len() < shader.block(block).insts.len();
            shader.block_mut(block).insts = kept;
        }
        if !gone {
            return;
        }
    }
}
