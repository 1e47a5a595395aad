//! Memory by address: buffers are far apart, and an access that is not inside one buffer is an error.

use super::atomic;
use super::machine::{Bound, Machine, store};
use super::races::Touch;
use super::shadow::Shadow;
use super::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AtomicOp, Inst, Op};

impl Machine<'_> {
    /// A load from, a store to, or an atomic on physical memory.
    pub fn global(&mut self, wave: &mut Wave, inst: &Inst, lane: usize) -> Result<()> {
        let arg = |wave: &Wave, n: usize| inst.args.get(n).map_or((0, Shadow::NONE), |&v| self.arg(wave, v, lane));
        let (address, shadow) = arg(wave, 0);
        let helper = wave.helpers >> lane & 1 != 0;
        match inst.op {
            Op::GlobalStore { .. } if !helper => {
                let values = self.values(wave, inst, 1, lane);
                let bytes = values.iter().map(|v| v.2.bytes()).sum();
                let (place, offset) = self.behind(address, bytes)?;
                if let Some(memory) = self.world.buffers.get_mut(&place) {
                    store(memory, offset, shadow, &values);
                }
                self.watch(wave, lane, Some(place), offset, bytes);
                self.touched(wave, lane, Some(place), offset, bytes, Touch::Write);
            }
            Op::GlobalAtomic { op, .. } if !helper => self.global_atomic(wave, inst, lane, op)?,
            Op::GlobalAtomic { .. } => self.set(wave, inst, lane, 0, Shadow::NONE),
            Op::GlobalLoad { .. } => {
                let Some(result) = inst.result else { return Ok(()) };
                let (place, offset) = self.behind(address, self.shader.ty(result).bytes())?;
                if let Some(memory) = self.world.buffers.get(&place) {
                    self.loaded(wave, inst, lane, memory, offset, shadow);
                }
                self.touched(wave, lane, Some(place), offset, self.shader.ty(result).bytes(), Touch::Read);
            }
            _ => {}
        }
        Ok(())
    }

    fn global_atomic(&mut self, wave: &mut Wave, inst: &Inst, lane: usize, op: AtomicOp) -> Result<()> {
        let arg = |n: usize| inst.args.get(n).map_or((0, Shadow::NONE), |&v| self.arg(wave, v, lane));
        let ((address, shadow), data) = (arg(0), [arg(1), arg(2)]);
        let bits = self.atomic_width(inst, 1);
        let (place, offset) = self.behind(address, bits.bytes())?;
        if let Some(memory) = self.world.buffers.get_mut(&place) {
            let old = atomic::run(memory, offset, op, bits, data, shadow);
            self.set(wave, inst, lane, old.0, old.1);
        }
        self.watch(wave, lane, Some(place), offset, bits.bytes());
        self.touched(wave, lane, Some(place), offset, bits.bytes(), Touch::Atomic);
        Ok(())
    }

    /// The buffer that contains the bytes at an address, and the offset in it.
    fn behind(&self, address: u64, bytes: u32) -> Result<(Bound, u64)> {
        let found = self.world.addresses.range(..=address).next_back().and_then(|(base, place)| {
            let offset = address - base;
            let end = offset.checked_add(bytes.into())?;
            (end <= self.world.buffers.get(place)?.bytes().len() as u64).then_some((*place, offset))
        });
        found.ok_or_else(|| Error::malformed(format!("{bytes} bytes at {address:#x} are in no buffer")))
    }
}
