//! Named sets of active lanes, and the effect of an instruction on them.
//!
//! An instruction that deactivates lanes gives the remaining set a new name, and records its superset. A saved mask
//! keeps its name, so `s_or` with it restores the whole set. A mask that this analysis does not understand has no name.

use super::flow::Step;
use super::mask_op::{MaskForm, MaskOp, mask_op};
use super::names::{Kind, Name, Names};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{Fields, ScalarFields};
use dovetail_isa::{Register, RegisterSet, Scalar, Src, Traits};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of names per join; above it the set is unknown.
const MOST: usize = 8;

/// Possible names of the active lanes; empty: unknown.
pub(super) type Exec = BTreeSet<Name>;

/// Lane mask in a scalar register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mask {
    Lanes(Name),
    /// All lanes of `whole` except those of `part`.
    Rest {
        whole: Name,
        part: Name,
    },
    /// These lanes, or none, by a condition of the whole wave.
    AllOrNone(Name),
    /// The active lanes that are in another register's mask, by its code, or those that are not.
    Some(u8, bool),
}

/// Lanes added to a mask, in which they wait for code further on: the active ones that are in the mask of `condition`
/// (code of its register), or those that are not.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Parked {
    condition: u8,
    wanted: bool,
}

/// Lane facts at one instruction.
#[derive(Clone)]
pub(super) struct Lanes {
    wave: WaveSize,
    pub exec: Exec,
    /// Saved masks by the code of their first register.
    saved: BTreeMap<u8, Mask>,
    /// Lanes that this block has added to masks, and that are still active.
    parked: Vec<Parked>,
}

impl Lanes {
    /// All lanes are active, and no mask is saved.
    pub(super) fn entry(wave: WaveSize) -> Self {
        Self { wave, exec: [Names::ENTRY].into(), saved: BTreeMap::new(), parked: Vec::new() }
    }

    /// Merges the facts at a join.
    pub(super) fn meet(&mut self, other: &Self) {
        match self.exec.is_empty() || other.exec.is_empty() {
            true => self.exec.clear(),
            false => self.exec.extend(&other.exec),
        }
        if self.exec.len() > MOST {
            self.exec.clear();
        }
        self.saved.retain(|register, mask| other.saved.get(register) == Some(mask));
        self.parked.clear();
    }

    /// At a join, lanes that ended on one of the paths, or wait for code further on, are no divergence.
    pub(super) fn without_gone(&mut self, names: &Names) {
        let all = self.exec.clone();
        self.exec.retain(|whole| !all.iter().any(|name| names.is_rest_of_gone(*name, *whole)));
    }

    /// Drops the masks with a register that is written.
    pub(super) fn forget(&mut self, writes: &RegisterSet) {
        let written = |code: u8| writes.contains(Register::sgpr(code));
        let wide = self.wave == WaveSize::W64;
        let lost = |code: u8| written(code) || wide && written(code + 1);
        self.saved.retain(|code, mask| !(lost(*code) || matches!(mask, Mask::Some(of, _) if lost(*of))));
        self.parked.retain(|parked| !lost(parked.condition));
        if writes.contains(Register::EXEC) {
            self.saved.retain(|_, mask| !matches!(mask, Mask::Some(..)));
            self.parked.clear();
        }
    }

    /// The name of the active lanes, if there is exactly one.
    pub(super) fn name(&self) -> Option<Name> {
        self.exec.first().copied().filter(|_| self.exec.len() == 1)
    }

    /// Applies an instruction; true if it uses EXEC before its lanes have reconverged.
    pub(super) fn step(&mut self, step: &Step, names: &mut Names) -> bool {
        let (exec, saved) = match &step.inst.fields {
            Fields::Scalar(f) => self.scalar(step, f, names),
            _ if step.effects.writes.contains(Register::EXEC) => (self.fewer(step, Kind::Part, names), None),
            _ => (self.exec.clone(), None),
        };
        let brings_back = matches!(mask_op(step.op()), Some((_, MaskOp::Or))) || step.is(Traits::EXEC_IN);
        let looks = step.effects.reads.contains(Register::EXEC) && !brings_back;
        let mixed = looks && self.is_mixed(names);
        // Report each divergence only once.
        self.exec = if mixed { Exec::new() } else { exec };
        self.forget(&step.effects.writes);
        if let Some((register, mask)) = saved {
            self.saved.insert(register.index(), mask);
        }
        mixed
    }

    /// Whether the active lanes of one path are a subset of another's. Disjoint sets may continue together: LLVM lets
    /// two paths share code.
    fn is_mixed(&self, names: &Names) -> bool {
        let part = |name: &Name| self.exec.iter().any(|other| other != name && names.is_part(*name, *other));
        self.exec.iter().any(part)
    }

    /// Names the remaining lanes after an instruction that deactivates some.
    fn fewer(&self, step: &Step, kind: Kind, names: &mut Names) -> Exec {
        self.name().map(|name| names.part(step.at, name, kind)).into_iter().collect()
    }

    fn mask(&self, src: Src) -> Option<Mask> {
        match src {
            Src::Scalar(Scalar::ExecLo) => self.name().map(Mask::Lanes),
            Src::Scalar(register) => self.saved.get(&register.index()).copied(),
            _ => None,
        }
    }

    /// The active lanes after the instruction, and the mask that it saves.
    fn scalar(&mut self, step: &Step, f: &ScalarFields, names: &mut Names) -> (Exec, Option<(Scalar, Mask)>) {
        let (form, how) = mask_op(step.op())
            .map_or((MaskForm::Plain, None), |(form, op)| (form, Some(op).filter(|_| form != MaskForm::Write)));
        let current = self.name();
        let Some(dst) = f.dst else { return (self.exec.clone(), None) };
        let save = |mask: Option<Mask>| mask.map(|mask| (dst, mask));
        if form == MaskForm::Save {
            let before = save(current.map(Mask::Lanes));
            let exec = match (how, f.srcs[0].and_then(|src| self.mask(src))) {
                (Some(MaskOp::And), _) => self.fewer(step, Kind::Part, names),
                (Some(MaskOp::Andn2), Some(Mask::Rest { whole, part })) if current == Some(part) => {
                    [names.part(step.at, whole, Kind::Rest(part))].into()
                }
                (Some(MaskOp::Or), Some(Mask::Rest { whole, part })) if current == Some(part) => [whole].into(),
                (Some(MaskOp::Or), mask) => self.whole(f.srcs[0], mask, names),
                _ => Exec::new(),
            };
            return (exec, before);
        }
        let is_exec = |src: Option<Src>| src == Some(Src::Scalar(Scalar::ExecLo));
        let other = if is_exec(f.srcs[0]) { f.srcs[1] } else { f.srcs[0] };
        let mask = other.and_then(|src| self.mask(src));
        let condition = match other {
            Some(Src::Scalar(register)) => Some(register.index()),
            _ => None,
        };
        let with_exec = f.srcs.into_iter().any(is_exec);
        // If one set contains the other: the larger set, and the subset.
        let nested = current.zip(mask).and_then(|(current, mask)| match mask {
            Mask::Lanes(other) if names.is_part(current, other) => Some((other, current)),
            Mask::Lanes(other) if names.is_part(other, current) => Some((current, other)),
            _ => None,
        });
        if dst != Scalar::ExecLo {
            let mask = match how {
                Some(MaskOp::Mov) => f.srcs[0].and_then(|src| self.mask(src)),
                Some(MaskOp::Xor) if with_exec => nested.map(|(whole, part)| Mask::Rest { whole, part }),
                Some(MaskOp::Select) if with_exec && other == Some(Src::Int(0)) => current.map(Mask::AllOrNone),
                Some(MaskOp::And) if with_exec => condition.map(|condition| Mask::Some(condition, true)),
                Some(MaskOp::Andn2) if is_exec(f.srcs[0]) => condition.map(|condition| Mask::Some(condition, false)),
                _ => None,
            };
            self.park(how, f);
            let exec = if dst == Scalar::ExecHi { Exec::new() } else { self.exec.clone() };
            return (exec, save(mask));
        }
        let exec = match (how, mask) {
            (Some(MaskOp::Mov), Some(Mask::Lanes(name))) => [name].into(),
            (Some(MaskOp::Or), mask) if with_exec => self.whole(other, mask, names),
            (Some(MaskOp::Xor), _) if with_exec => {
                let rest = nested.map(|(whole, part)| names.part(step.at, whole, Kind::Rest(part)));
                rest.into_iter().collect()
            }
            (Some(MaskOp::And | MaskOp::Andn2), Some(Mask::AllOrNone(name))) if with_exec && current == Some(name) => {
                [name].into()
            }
            (Some(MaskOp::Andn2), _) if is_exec(f.srcs[0]) => {
                let kind = match condition {
                    Some(condition) if self.waits(condition, true) => Kind::Parked,
                    Some(condition) => Kind::Left(condition),
                    None => Kind::Part,
                };
                self.fewer(step, kind, names)
            }
            (Some(MaskOp::And), _) if with_exec => {
                let waits = condition.is_some_and(|condition| self.waits(condition, false));
                self.fewer(step, if waits { Kind::Parked } else { Kind::Part }, names)
            }
            // Selected by a condition of the whole wave: either the lanes stay, or none is left and nothing depends on
            // them.
            (Some(MaskOp::Select), _) if with_exec && other == Some(Src::Int(0)) => self.exec.clone(),
            _ => Exec::new(),
        };
        (exec, None)
    }

    /// Notes that an instruction adds lanes to a mask, in which they wait.
    fn park(&mut self, how: Option<MaskOp>, f: &ScalarFields) {
        // The result may take the register of either: of the mask, or of the lanes if the mask is kept elsewhere.
        for src in f.srcs.into_iter().flatten().filter(|_| how == Some(MaskOp::Or)) {
            let parked = match self.mask(src) {
                Some(Mask::Some(condition, wanted)) => Parked { condition, wanted },
                _ => continue,
            };
            self.parked.push(parked);
        }
    }

    /// Whether the active lanes that are in a register's mask, or those that are not, wait in another mask.
    fn waits(&self, condition: u8, wanted: bool) -> bool {
        self.parked.contains(&Parked { condition, wanted })
    }

    /// Union of the active lanes and those of a mask.
    fn whole(&self, register: Option<Src>, mask: Option<Mask>, names: &Names) -> Exec {
        let code = match register {
            Some(Src::Scalar(register)) => register.index(),
            _ => return Exec::new(),
        };
        let one = |name: &Name| match mask {
            Some(Mask::Lanes(other)) => names.together(*name, other),
            Some(Mask::Rest { whole, part }) => names.is_part(*name, part).then_some(whole),
            Some(Mask::AllOrNone(_) | Mask::Some(..)) => None,
            None => names.with_left(*name, code),
        };
        self.exec.iter().map(one).collect::<Option<Exec>>().unwrap_or_default()
    }
}
