//! Writes a program as SPIR-V: blocks, with what the headers declare, in any order that SPIR-V allows.

use super::blocks::arranged;
use super::program::{Case, Cond, DEPTH, ELEMENTS, Expr, LoopKind, Program, Stmt, VARS, WORDS};
use super::values::Around;
use super::writer::{BUFFERS, DATA, Form, SUMS, TEXTURES, Writer, op};
use spirv::{Op, StorageClass};

/// The module's bytes.
pub fn module(program: &Program, form: Form) -> Vec<u8> {
    let mut w = Writer::new(program, form);
    let main = w.id();
    w.declare();
    w.callees = program.functions.iter().map(|_| w.id()).collect();
    let (void, word) = (w.ids.void, w.ids.u32);
    let main_type = w.global(Op::TypeFunction, &[void]);
    let callee_type = w.global(Op::TypeFunction, &[word, word]);
    w.function(None, main, main_type);
    for n in 0..program.functions.len() {
        w.function(Some(n), w.callees[n], callee_type);
    }
    w.finish(main)
}

impl Writer<'_> {
    /// Writes the main function, or one that is called.
    fn function(&mut self, callee: Option<usize>, id: u32, ty: u32) {
        let program = self.program;
        let (word, void) = (self.ids.u32, self.ids.void);
        op(&mut self.functions, Op::Function, &[if callee.is_some() { word } else { void }, id, 0, ty]);
        let arg = self.id();
        if callee.is_some() {
            op(&mut self.functions, Op::FunctionParameter, &[word, arg]);
        }
        let start = self.id();
        self.label(start);
        let variable = |this: &mut Self| this.value(Op::Variable, this.ids.to_local, &[StorageClass::Function as u32]);
        self.vars = [0; VARS].map(|_| variable(self));
        self.counts = [0; DEPTH].map(|_| variable(self));
        self.data = [0; DEPTH].map(|_| variable(self));
        let first = if callee.is_some() { arg } else { self.load(self.ids.lane) };
        let zero = self.int(0);
        for (n, var) in self.vars.into_iter().enumerate() {
            self.effect(Op::Store, &[var, if n == 0 { first } else { zero }]);
        }
        let around = Around { main: callee.is_none(), ..Around::default() };
        let body = callee.map_or(&program.main, |n| &program.functions[n].body);
        if self.list(body, around) {
            match callee {
                Some(n) => {
                    let result = self.expr(&program.functions[n].result, around);
                    self.effect(Op::ReturnValue, &[result]);
                }
                None => {
                    self.leave();
                    self.effect(Op::Return, &[]);
                }
            }
        }
        for block in arranged(std::mem::take(&mut self.blocks), self.form.order) {
            self.functions.extend(block.code);
        }
        op(&mut self.functions, Op::FunctionEnd, &[]);
    }

    fn note(&mut self, var: u8, value: u32) {
        let word = self.ids.u32;
        self.effect(Op::Store, &[self.vars[usize::from(var)], value]);
        let (digest, factor) = (self.load(self.ids.digest), self.int(31));
        let product = self.value(Op::IMul, word, &[digest, factor]);
        let sum = self.value(Op::IAdd, word, &[product, value]);
        self.effect(Op::Store, &[self.ids.digest, sum]);
    }

    /// Writes statements; whether control goes on behind them. What nothing reaches is left out.
    fn list(&mut self, list: &[Stmt], around: Around) -> bool {
        list.iter().all(|s| self.stmt(s, around))
    }

    fn stmt(&mut self, stmt: &Stmt, around: Around) -> bool {
        match stmt {
            Stmt::Set(v, e) => {
                let e = self.expr(e, around);
                self.effect(Op::Store, &[self.vars[usize::from(*v)], e]);
            }
            Stmt::Tangled(v, t) => {
                let value = self.tangled(t, around);
                self.note(*v, value);
            }
            Stmt::Read(v, index, at) => {
                let index = self.index(index, around);
                let at = self.expr(at, around);
                let at = self.and(at, ELEMENTS - 1);
                let word = self.word(BUFFERS, Some(index), at);
                let value = self.load(word);
                self.note(*v, value);
            }
            Stmt::Fetch(v, index) => {
                let index = self.index(index, around);
                let ids = &self.ids;
                let (texture, to_image, image, four, word) =
                    (ids.bindings[TEXTURES as usize], ids.to_image, ids.image, ids.f32x4, ids.u32);
                let (origin, level) = (ids.origin, ids.level);
                let pointer = self.value(Op::AccessChain, to_image, &[texture, index]);
                let image = self.value(Op::Load, image, &[pointer]);
                // Operand 2: the level.
                let texel = self.value(Op::ImageFetch, four, &[image, origin, 2, level]);
                let all = self.value(Op::Bitcast, self.ids.u32x4, &[texel]);
                let value = self.value(Op::CompositeExtract, word, &[all, 0]);
                self.note(*v, value);
            }
            Stmt::Add(at, addend) => {
                let (at, addend) = (self.expr(at, around), self.expr(addend, around));
                let at = self.and(at, WORDS - 1);
                let word = self.word(SUMS, None, at);
                let (scope, none) = (self.int(spirv::Scope::Device as u32), self.int(0));
                self.value(Op::AtomicIAdd, self.ids.u32, &[word, scope, none, addend]);
            }
            Stmt::If { cond, then, els, bare } => return self.selection(cond, [then, els], *bare, around),
            Stmt::Loop { kind, body, next } => return self.repeat(kind, body, next, around),
            Stmt::Switch { on, cases } => return self.switch(on, cases, around),
            Stmt::Break => {
                self.jump(around.break_to);
                return false;
            }
            Stmt::Continue => {
                self.jump(around.continue_to);
                return false;
            }
            Stmt::Return(e) => {
                if around.main {
                    self.leave();
                    self.effect(Op::Return, &[]);
                } else {
                    let e = self.expr(e, around);
                    self.effect(Op::ReturnValue, &[e]);
                }
                return false;
            }
            Stmt::Kill { terminate } => {
                self.leave();
                self.effect(if *terminate { Op::TerminateInvocation } else { Op::Kill }, &[]);
                return false;
            }
            Stmt::Demote => {
                self.leave();
                self.effect(Op::DemoteToHelperInvocation, &[]);
                self.effect(Op::Return, &[]);
                return false;
            }
            Stmt::Call(v, f, e) => {
                let e = self.expr(e, around);
                let result = self.value(Op::FunctionCall, self.ids.u32, &[self.callees[usize::from(*f)], e]);
                self.effect(Op::Store, &[self.vars[usize::from(*v)], result]);
            }
        }
        true
    }

    fn selection(&mut self, cond: &Cond, [then, els]: [&[Stmt]; 2], bare: bool, around: Around) -> bool {
        let cond = self.cond(cond, around);
        let (yes, no, merge) = (self.id(), self.id(), self.id());
        if bare
            && els.is_empty()
            && let [Stmt::Break | Stmt::Continue] = then
        {
            let away = if then == [Stmt::Break] { around.break_to } else { around.continue_to };
            self.branch(cond, away, no);
            self.label(no);
            return true;
        }
        // An arm that is left out, or one that does nothing.
        let has_else = !els.is_empty() || self.rewritten(4);
        let mut to = [yes, if has_else { no } else { merge }];
        // An arm that only leaves may be no block; not of a switch, whose targets are cases or its merge block.
        let is_exit = matches!(then, [Stmt::Break | Stmt::Continue]) && self.rewritten(3);
        if is_exit {
            to[0] = if then == [Stmt::Break] { around.break_to } else { around.continue_to };
        }
        let hint = self.hint();
        let may_switch = !is_exit && (!around.breaks_switch || !then.iter().chain(els).any(breaks));
        if may_switch && self.rewritten(4) {
            let (one, zero) = (self.int(1), self.int(0));
            let number = self.value(Op::Select, self.ids.u32, &[cond, one, zero]);
            self.declared(Op::SelectionMerge, &[merge, hint], &[merge]);
            match self.rewritten(2) {
                true => self.end(Op::Switch, &[number, to[0], 0, to[1]], &to),
                false => self.end(Op::Switch, &[number, to[1], 1, to[0], 7, to[0]], &to),
            }
        } else {
            let inverted = self.rewritten(4).then(|| self.value(Op::LogicalNot, self.ids.bool, &[cond]));
            self.declared(Op::SelectionMerge, &[merge, hint], &[merge]);
            match inverted {
                Some(cond) => self.branch(cond, to[1], to[0]),
                None => self.branch(cond, to[0], to[1]),
            }
        }
        for (label, arm) in [(yes, then), (no, els)] {
            if to.contains(&label) {
                self.label(label);
                if self.list(arm, around) {
                    self.jump(merge);
                }
            }
        }
        self.merge(merge)
    }

    fn repeat(&mut self, kind: &LoopKind, body: &[Stmt], next: &[Stmt], around: Around) -> bool {
        let (header, first, again, merge) = (self.id(), self.id(), self.id(), self.id());
        let (count, data) = (self.counts[around.depth], self.data[around.depth]);
        let inner =
            Around { break_to: merge, breaks_switch: false, continue_to: again, depth: around.depth + 1, ..around };
        let hint = self.hint();
        let zero = self.int(0);
        self.effect(Op::Store, &[count, zero]);
        self.effect(Op::Store, &[data, zero]);
        self.jump(header);
        self.label(header);
        let declare = |this: &mut Self| this.declared(Op::LoopMerge, &[merge, again, hint], &[merge, again]);
        match kind {
            LoopKind::Head { limit, apart } => {
                if *apart {
                    declare(self);
                    let test = self.id();
                    self.jump(test);
                    self.label(test);
                }
                let on = self.goes_on(limit, count, inner);
                if !*apart {
                    declare(self);
                }
                self.branch(on, first, merge);
                self.label(first);
            }
            LoopKind::Tail { .. } => {
                declare(self);
                self.jump(first);
                self.label(first);
            }
            LoopKind::Data { from } => {
                declare(self);
                self.jump(first);
                self.label(first);
                let from = self.expr(from, inner);
                let (from, count) = (self.and(from, 15), self.load(count));
                let at = self.value(Op::IAdd, self.ids.u32, &[from, count]);
                let at = self.and(at, WORDS - 1);
                let word = self.word(DATA, None, at);
                let read = self.load(word);
                self.effect(Op::Store, &[data, read]);
            }
        }
        if self.list(body, inner) {
            self.jump(again);
        }
        self.label(again);
        if self.reached.contains(&again) {
            self.list(next, inner);
            let (before, one) = (self.load(count), self.int(1));
            let after = self.value(Op::IAdd, self.ids.u32, &[before, one]);
            self.effect(Op::Store, &[count, after]);
            if let LoopKind::Tail { limit } = kind {
                let on = self.goes_on(limit, count, inner);
                self.branch(on, header, merge);
            } else {
                self.jump(header);
            }
        } else {
            self.jump(header);
        }
        self.merge(merge)
    }

    fn switch(&mut self, on: &Expr, cases: &[Case], around: Around) -> bool {
        let on = self.expr(on, around);
        let (on, merge) = (self.and(on, 7), self.id());
        let mut labels: Vec<u32> = cases.iter().map(|_| self.id()).collect();
        // A case that does nothing may be no block at all.
        for (n, case) in cases.iter().enumerate() {
            let fallen_into = n > 0 && cases[n - 1].falls;
            if case.body.is_empty() && !fallen_into && (!case.falls || n + 1 == cases.len()) && self.rewritten(2) {
                labels[n] = merge;
            }
        }
        let default = cases.iter().position(|c| c.default).map_or(merge, |n| labels[n]);
        let mut operands = vec![on, default];
        for (case, label) in cases.iter().zip(&labels) {
            operands.extend(case.labels.iter().flat_map(|literal| [*literal, *label]));
        }
        let hint = self.hint();
        self.declared(Op::SelectionMerge, &[merge, hint], &[merge]);
        let to: Vec<u32> = labels.iter().copied().chain([default]).collect();
        self.end(Op::Switch, &operands, &to);
        let inner = Around { break_to: merge, breaks_switch: true, ..around };
        for (n, case) in cases.iter().enumerate().filter(|(n, _)| labels[*n] != merge) {
            self.label(labels[n]);
            if self.list(&case.body, inner) {
                let next = labels.get(n + 1).filter(|_| case.falls);
                self.jump(next.copied().unwrap_or(merge));
            }
        }
        self.merge(merge)
    }
}

/// Whether a statement has a `break` out of what is around it.
fn breaks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Break => true,
        Stmt::If { then, els, .. } => then.iter().chain(els).any(breaks),
        _ => false,
    }
}
