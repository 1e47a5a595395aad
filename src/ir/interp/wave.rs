//! One subgroup: its registers, and the position of each lane.

use super::machine::Machine;
use super::memory::ShadowedMemory;
use super::shadow::Shadow;
use super::world::Invocation;
use dovetail_ir::{BlockCall, BlockId, Value};

/// Reason why a wave stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It waits for the other waves of its workgroup.
    Barrier,
    /// Every lane has ended.
    End,
}

/// A lane that has ended.
pub(super) const ENDED: u32 = u32::MAX;

/// One subgroup.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    /// Its number in the workgroup.
    pub number: u32,
    /// Local index of lane 0.
    pub first: u32,
    /// Position of each lane's block (see `order`), [`ENDED`] if none.
    pub at: Vec<u32>,
    /// Block, instruction and mask at which the active lanes continue after a barrier.
    pub resume: Option<(BlockId, usize, u64)>,
    /// Lanes that are helpers.
    pub helpers: u64,
    /// Lanes whose path is uncertain.
    pub tainted: u64,
    /// Scratch memory, all lanes.
    pub scratch: ShadowedMemory,
    /// Vertices or fragments; empty for compute.
    pub invocations: Vec<Invocation>,
    bits: Vec<u64>,
    shadows: Vec<Shadow>,
    width: usize,
}

impl Wave {
    pub fn new(machine: &Machine<'_>, number: u32, first: u32, lanes: u32) -> Self {
        let width = machine.options.subgroup_size as usize;
        let registers = machine.registers * width;
        let mut at = vec![ENDED; width];
        at.iter_mut().take(lanes as usize).for_each(|a| *a = 0);
        Self {
            number,
            first,
            at,
            resume: None,
            helpers: 0,
            tainted: 0,
            scratch: ShadowedMemory::unwritten(machine.scratch_bytes as usize * width, machine.options.shadow),
            invocations: Vec::new(),
            bits: vec![0; registers],
            shadows: if machine.options.shadow { vec![Shadow::NONE; registers] } else { Vec::new() },
            width,
        }
    }

    /// Bits of a component; `register` is the value's first register plus the component.
    pub fn get(&self, register: usize, lane: usize) -> u64 {
        self.bits.get(register * self.width + lane).copied().unwrap_or(0)
    }

    /// The exact value and the error bound of a component.
    pub fn shadow(&self, register: usize, lane: usize) -> Shadow {
        self.shadows.get(register * self.width + lane).copied().unwrap_or(Shadow::NONE)
    }

    pub fn set(&mut self, register: usize, lane: usize, bits: u64, shadow: Shadow) {
        let at = register * self.width + lane;
        if let Some(slot) = self.bits.get_mut(at) {
            *slot = bits;
        }
        if let Some(slot) = self.shadows.get_mut(at) {
            // Another implementation may not execute a tainted lane's operations.
            *slot = if self.tainted >> lane & 1 != 0 { Shadow::UNCERTAIN } else { shadow };
        }
    }

    /// Moves a lane along a jump.
    pub fn jump(&mut self, machine: &Machine<'_>, call: BlockCall<'_>, lane: usize) {
        let mut passed: smallvec::SmallVec<[(u64, Shadow); 16]> = smallvec::SmallVec::new();
        for &arg in call.args {
            for register in machine.registers_of(arg) {
                passed.push((self.get(register, lane), self.shadow(register, lane)));
            }
        }
        let params: &[Value] = machine.shader.blocks.get(call.block.index()).map_or(&[], |b| &b.params);
        let registers = params.iter().flat_map(|&p| machine.registers_of(p));
        for (register, (bits, shadow)) in registers.zip(passed) {
            self.set(register, lane, bits, shadow);
        }
        if let Some(at) = self.at.get_mut(lane) {
            *at = machine.position(call.block);
        }
    }

    /// The lanes that run next, which are those at the earliest position in the order, and that position.
    pub fn next(&self) -> Option<(u32, u64)> {
        let first = *self.at.iter().min()?;
        if first == ENDED {
            return None;
        }
        let mut mask = 0;
        for (lane, at) in self.at.iter().enumerate() {
            if *at == first {
                mask |= 1 << lane;
            }
        }
        Some((first, mask))
    }
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = usize> + Clone {
    let mut rest = mask;
    std::iter::repeat_with(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        lane
    })
    .take(mask.count_ones() as usize)
}
