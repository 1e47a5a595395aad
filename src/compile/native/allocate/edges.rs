//! Block boundaries: gives parameters registers and copies, and moves displaced values back.

use super::copies::CopySource;
use super::registers::{RegSet, class_of};
use super::room::Result;
use super::walk::{LIVES_ON, Walk};
use crate::liveness::args_at_end;
use crate::mir::{BlockId, Operand, RegisterClass, Val};
use dovetail_base::error::Error;

impl Walk<'_> {
    /// Before a block's tail: copies the arguments of its only edge, and moves values that live on back to their homes.
    pub(super) fn edge(&mut self, id: BlockId) -> Result<()> {
        let f = self.f;
        let to = match &f.block(id).edges[..] {
            [edge] if !edge.args.is_empty() => Some(edge.to),
            _ => None,
        };
        let mut away = std::mem::take(&mut self.displaced);
        away.retain(|val| self.loc[val.index()] != self.home[val.index()]);
        // A value that was moved twice returns once.
        away.sort_unstable();
        away.dedup();
        if to.is_none() && away.is_empty() {
            return Ok(());
        }
        let args = args_at_end(f, id);
        let position = 4 * f.block(id).tail + 1;
        let dying = self.dying(args, position);
        let mut targets = RegSet::default();
        for val in &away {
            if let (Some(from), Some(home)) = (self.loc[val.index()], self.home[val.index()]) {
                self.moves.add(home, CopySource::Reg(from));
                self.occupied.remove(from);
                targets.insert(home);
            }
        }
        if let Some(to) = to {
            if !self.placed[to.index()] {
                // A value that is live into the target is live here too, in its home, whichever predecessor is
                // allocated first.
                let mut taken = self.occupied.without(&dying).or(&self.homes);
                let others = self.live.live_in(to).filter_map(|val| self.home[val.index()]);
                others.for_each(|reg| taken.insert(reg));
                let free = self.usable.without(&taken);
                self.place_params(to, args, &free)?;
            }
            for (param, arg) in f.params_of(f.block(to)).iter().zip(args) {
                self.copy_into(*param, arg)?;
                let used = self.hints.is_used(*param);
                self.home[param.index()].filter(|_| used).into_iter().for_each(|reg| targets.insert(reg));
            }
        }
        self.evict(&targets, &dying)?;
        self.flush(id, f.block(id).tail)?;
        self.release(args, position);
        away.iter().try_for_each(|val| self.bring_home(*val))?;
        to.map_or(Ok(()), |to| self.occupy_params(to))
    }

    /// Records that a value is in its home.
    pub(super) fn bring_home(&mut self, val: Val) -> Result<()> {
        let home = self.home[val.index()];
        let home = home.ok_or_else(|| Error::bug(format!("{val} has no home where it is live")))?;
        self.loc[val.index()] = Some(home);
        self.occupy(val, home);
        if self.end[val.index()] == LIVES_ON {
            self.homes.insert(home);
        }
        Ok(())
    }

    /// Marks the registers of a block's parameters as occupied from here on.
    pub(super) fn occupy_params(&mut self, id: BlockId) -> Result<()> {
        for param in self.f.params_of(self.f.block(id)) {
            if self.hints.is_used(*param) {
                self.bring_home(*param)?;
            }
        }
        Ok(())
    }

    /// Moves values that this block still needs out of registers that are about to be written.
    pub(super) fn evict(&mut self, targets: &RegSet, dying: &RegSet) -> Result<()> {
        let in_the_way = targets.and(&self.occupied).without(dying);
        for class in [RegisterClass::Scalar, RegisterClass::Vector] {
            for reg in in_the_way.iter(class) {
                let Some(val) = self.owner[usize::from(reg.0)].filter(|val| self.loc[val.index()] == Some(reg)) else {
                    continue;
                };
                if self.end[val.index()] == LIVES_ON {
                    return Err(Error::unsupported(
                        "a live value in a register of results or parameters",
                        format!("{val} in {reg}"),
                    )
                    .into());
                }
                let taken = self.occupied.or(targets).or(&self.moves.targets());
                let free = self.usable.without(&taken);
                let to = free.lowest(class, 1, 1).ok_or_else(|| self.no_register(class, 1, &free))?;
                self.moves.add(to, CopySource::Reg(reg));
                self.occupied.remove(reg);
                self.occupy(val, to);
                self.loc[val.index()] = Some(to);
            }
        }
        Ok(())
    }

    /// Chooses free registers for the parameters of a block, if possible those of the arguments.
    pub(super) fn place_params(&mut self, id: BlockId, args: &[Operand], free: &RegSet) -> Result<()> {
        let f = self.f;
        self.placed[id.index()] = true;
        let mut free = *free;
        for (n, param) in f.params_of(f.block(id)).iter().enumerate() {
            if self.exclusive[param.index()] || !self.hints.is_used(*param) {
                continue;
            }
            let class = f.class(*param);
            let arg = args.get(n).and_then(|arg| arg.as_val()).and_then(|arg| self.loc[arg.index()]);
            let prefer = arg.filter(|reg| class_of(*reg) == class);
            let Some(reg) = self.place(&[Operand::val(*param)], class, &free, prefer, None) else {
                return Err(self.no_register(class, 1, &free));
            };
            free.remove(reg);
            self.give(*param, reg);
            self.home[param.index()] = Some(reg);
        }
        Ok(())
    }

    /// Adds the copy of an argument to a parameter, unless nothing uses the parameter.
    pub(super) fn copy_into(&mut self, param: Val, arg: &Operand) -> Result<()> {
        if self.hints.is_used(param)
            && let Some(from) = self.source(arg)?
        {
            let to = self.home[param.index()];
            let to = to.ok_or_else(|| Error::bug(format!("parameter {param} has no register")))?;
            self.moves.add(to, from);
        }
        Ok(())
    }
}
