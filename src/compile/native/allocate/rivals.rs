//! Values whose registers decide whether two instructions can be one (VOPD): results in an even and an odd register,
//! sources in different banks.
//!
//! The instructions that are paired later are near each other, so the values of each instruction that can be a half are
//! rivals of those of the one before it. Where nothing speaks against it, rivals get registers that fit.

use super::registers::RegSet;
use crate::mir::{Extra, MachineFunction, MachineInst, Opcode, Operand, Pseudo, RegisterClass, Val};
use dovetail_base::rows::Rows;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{Kept, List};
use dovetail_isa::Op;
use dovetail_isa::instruction::half_of;

/// Lowest bits of register numbers that differ: of results, of sources.
const PARITY: u16 = 1;
const BANK: u16 = 3;

/// A web whose register should differ from that of another web.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival {
    /// The other web.
    pub(super) web: u32,
    /// Bits of the registers' numbers that should not all be equal.
    pub(super) mask: u16,
}

/// The rivals of each web.
#[derive(Debug, Default)]
pub(super) struct Rivals(Kept<Rows<Rival>>);

/// The values of an instruction that can be a half, by port.
#[derive(Clone, Copy)]
struct Ports {
    result: Val,
    sources: [Option<Val>; 2],
}

impl Rival {
    /// Whether both are results.
    pub(super) fn is_result(self) -> bool {
        self.mask == PARITY
    }
}

impl Rivals {
    /// The rivals in a function, whose values are in these webs; none where there are no dual instructions.
    pub(super) fn new(f: &MachineFunction, mut web_of: impl FnMut(Val) -> usize) -> Self {
        let mut out = Self::default();
        if !has_pairs(f) {
            return out;
        }
        let mut pairs: List<(u32, u32, u16)> = List::default();
        for id in f.block_ids() {
            let mut before: Option<Ports> = None;
            for inst in f.insts_of(f.block(id)) {
                let Some(ports) = Ports::of(f, inst) else { continue };
                if let Some(before) = before.filter(|before| !ports.sources.contains(&Some(before.result))) {
                    let mut add = |a: Option<Val>, b: Option<Val>, mask: u16| {
                        if let (Some(a), Some(b)) = (a, b)
                            && a != b
                        {
                            pairs.push((web_of(a) as u32, web_of(b) as u32, mask));
                        }
                    };
                    add(Some(ports.result), Some(before.result), PARITY);
                    (0..2).for_each(|n| add(ports.sources[n], before.sources[n], BANK));
                }
                before = Some(ports);
            }
        }
        let both = pairs
            .iter()
            .filter(|(a, b, _)| a != b)
            .flat_map(|&(a, b, mask)| [(a as usize, Rival { web: b, mask }), (b as usize, Rival { web: a, mask })]);
        out.0.group(f.values.len(), both);
        out
    }

    /// Those of a web.
    pub(super) fn of(&self, web: usize) -> &[Rival] {
        self.0.of(web)
    }
}

impl Ports {
    /// `None` for other instructions.
    fn of(f: &MachineFunction, inst: &MachineInst) -> Option<Self> {
        let uses = f.uses(inst);
        let result = f.defs(inst).first()?.as_val().filter(|val| f.class(*val) == RegisterClass::Vector)?;
        let vector = |one: Option<&Operand>| one?.as_val().filter(|val| f.class(*val) == RegisterClass::Vector);
        let sources = match inst.op {
            Opcode::Pseudo(Pseudo::Copy) if uses.len() == 1 => [vector(uses.first()), None],
            Opcode::Isa(op) if inst.extra == Extra::None && (op == Op::VFmaF32 || half_of(op).is_some()) => {
                match [vector(uses.first()), vector(uses.get(1))] {
                    // The second source of a short form is a vector register.
                    [Some(a), None] if uses.len() > 1 => [None, Some(a)],
                    both => both,
                }
            }
            _ => return None,
        };
        Some(Self { result, sources })
    }
}

/// Whether two vector operations can be one instruction.
pub(super) fn has_pairs(f: &MachineFunction) -> bool {
    f.wave == WaveSize::W32 && f.isa.has(Op::VDualMovB32)
}

/// The vector registers whose numbers have these lowest bits.
pub(super) fn alike(number: u16, mask: u16) -> RegSet {
    let every: u64 = if mask == PARITY { 0x5555_5555_5555_5555 } else { 0x1111_1111_1111_1111 };
    RegSet::vectors(every << (number & mask))
}
