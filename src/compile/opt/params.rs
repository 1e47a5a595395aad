//! Removes block parameters that have the same value on every path.
//!
//! A parameter is such a value if every jump passes that value, the parameter itself, or something undefined. Replacing
//! one parameter may make others trivial, so its users are examined again: in a reducible graph none is left over.

use super::names::ValueNames;
use dovetail_base::error::Result;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, Op, Shader, Value};

const NONE: u32 = u32::MAX;

/// Removes the parameters.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let cfg = shader.cfg();
    let mut params = Params::new(shader, &cfg);
    if params.all.is_empty() {
        return Ok(());
    }
    let names = params.simplify(shader, &cfg);
    if !names.is_empty() {
        remove(shader, &params);
        names.apply(shader);
    }
    Ok(())
}

struct Param {
    value: Value,
    block: BlockId,
    /// Range of its values in `passed`.
    first: u32,
    edges: u32,
    removed: bool,
    /// First and last entry of the list of parameters to which this one is passed.
    users: Option<(u32, u32)>,
}

struct Params {
    all: List<Param>,
    /// By value, its index in `all`.
    index: List<u32>,
    passed: List<Value>,
    /// Entries of the lists of users: a parameter, and the next entry.
    users: List<(u32, u32)>,
    /// By value, the block of its definition.
    home: List<BlockId>,
}

impl Params {
    fn new(shader: &Shader, cfg: &Cfg) -> Self {
        let mut this = Self {
            all: List::default(),
            index: filled(shader.values.len(), NONE),
            passed: List::default(),
            users: List::default(),
            home: List::default(),
        };
        let mut first = 0;
        for block in shader.block_ids().skip(1).filter(|b| cfg.reachable(*b)) {
            let edges = cfg.preds(block).len() as u32;
            for &value in &shader.block(block).params {
                this.index[value.index()] = this.all.len() as u32;
                this.all.push(Param { value, block, first, edges, removed: false, users: None });
                first += edges;
            }
        }
        if this.all.is_empty() {
            return this;
        }
        this.passed.resize(first as usize, Value(0));
        let mut edge = filled(shader.blocks.len(), 0);
        for block in &shader.blocks {
            for call in block.calls() {
                let next = &mut edge[call.block.index()];
                let n = std::mem::replace(next, *next + 1);
                for (p, v) in shader.block(call.block).params.iter().zip(call.args) {
                    let Some(param) = this.all.get(this.index[p.index()] as usize) else { continue };
                    this.passed[(param.first + n) as usize] = *v;
                }
            }
        }
        for user in 0..this.all.len() as u32 {
            for n in this.values_of(user) {
                let used = this.index[this.passed[n].index()];
                if used != NONE && used != user {
                    let entry = this.users.len() as u32;
                    this.users.push((user, NONE));
                    this.add_users(used, (entry, entry));
                }
            }
        }
        this.home.resize(shader.values.len(), BlockId::ENTRY);
        for id in shader.block_ids() {
            let block = shader.block(id);
            let results = block.insts.iter().filter_map(|&i| shader.inst(i).result);
            block.params.iter().copied().chain(results).for_each(|v| this.home[v.index()] = id);
        }
        this
    }

    fn values_of(&self, n: u32) -> std::ops::Range<usize> {
        let param = &self.all[n as usize];
        param.first as usize..(param.first + param.edges) as usize
    }

    /// Appends a list of users to that of a parameter.
    fn add_users(&mut self, used: u32, (first, last): (u32, u32)) {
        let list = &mut self.all[used as usize].users;
        match list {
            None => *list = Some((first, last)),
            Some((_, end)) => self.users[std::mem::replace(end, last) as usize].1 = first,
        }
    }

    /// Finds trivial parameters until there are no more, and returns their replacements.
    fn simplify(&mut self, shader: &Shader, cfg: &Cfg) -> ValueNames {
        let mut names = ValueNames::default();
        let mut todo: List<u32> = (0..self.all.len() as u32).rev().collect();
        while let Some(n) = todo.pop() {
            if self.all[n as usize].removed {
                continue;
            }
            let Some(same) = self.only_value(n, shader, cfg, &mut names) else { continue };
            let param = &mut self.all[n as usize];
            param.removed = true;
            names.set(param.value, same);
            let Some(users) = param.users else { continue };
            let mut entry = users.0;
            while let Some(&(user, next)) = self.users.get(entry as usize) {
                todo.push(user);
                entry = next;
            }
            let used = self.index[same.index()];
            if used != NONE {
                self.add_users(used, users);
            }
        }
        names
    }

    /// The value that a parameter has on every path.
    fn only_value(&self, n: u32, shader: &Shader, cfg: &Cfg, names: &mut ValueNames) -> Option<Value> {
        let Param { value, block, .. } = self.all[n as usize];
        let mut only = None;
        let mut undefined = None;
        for at in self.values_of(n) {
            let v = names.of(self.passed[at]);
            if v == value || only == Some(v) {
                continue;
            }
            if shader.def(v).is_some_and(|inst| inst.op == Op::Undef) {
                undefined = Some(v);
            } else if only.is_some() {
                return None;
            } else {
                only = Some(v);
            }
        }
        let Some(v) = only else { return undefined };
        // What the block itself defines is of the time before where it is passed, and of the next time in the block.
        let home = self.home[v.index()];
        let everywhere = || home != block && cfg.dom.dominates(home, block);
        (undefined.is_none() || everywhere()).then_some(v)
    }
}

/// Removes parameters from their blocks and from the jumps.
fn remove(shader: &mut Shader, params: &Params) {
    let removed = |v: &Value| params.all.get(params.index[v.index()] as usize).is_some_and(|p| p.removed);
    // For each block, which of its parameters stay; none if all do.
    let mut kept = Kept::<Rows<bool>>::default();
    for block in &shader.blocks {
        let some_go = block.params.iter().any(removed);
        kept.push(block.params.iter().filter(|_| some_go).map(|p| !removed(p)));
    }
    for id in shader.block_ids() {
        let mut stays = kept.of(id.index()).iter();
        let block = shader.block_mut(id);
        block.params.retain(|_| stays.next().copied().unwrap_or(true));
        if block.calls().any(|call| !kept.of(call.block.index()).is_empty()) {
            block.end.retain_args(|to, n| kept.of(to.index()).get(n).copied().unwrap_or(true));
        }
        shader.place_params(id);
    }
}
