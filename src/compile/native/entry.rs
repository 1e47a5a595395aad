//! The registers that a machine function starts with.

use super::allocate::RegSet;
use super::mir::{EntryValue, MachineFunction, PhysReg, RegisterClass, Val};
use dovetail_abi::fetch::{kept_sgprs, table_address_sgpr};
use dovetail_abi::vertex_entry::{KeptRegisters, VertexEntry};
use dovetail_base::rows::Rows;
use dovetail_base::target::Gpu;
use dovetail_base::workspace::Kept;
use dovetail_ir::{EntryArg, RegClass};
use dovetail_isa::{RegisterSet, Vgpr};
use dovetail_passes::entry_facts::{EntryFacts, registers};

/// The register in which a prolog leaves the high half of the code's address.
pub fn address_high(facts: &EntryFacts) -> PhysReg {
    // There are at most 40 entry SGPRs.
    PhysReg::sgpr(table_address_sgpr(kept_sgprs(facts.sgprs.into())) as u16 + 1)
}

/// The registers that a prolog fills.
pub fn fetched(gpu: Gpu, facts: &EntryFacts) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    let (first, end) = (VertexEntry::of(gpu).fetched as u8, u8::try_from(facts.vgprs).unwrap_or(u8::MAX));
    set.vgprs(Vgpr(first), end.saturating_sub(first));
    set
}

/// The registers that the epilog of a function reads as the hardware left them.
pub fn kept(function: &MachineFunction) -> RegSet {
    let mut set = RegSet::default();
    let kept = KeptRegisters::of(function.isa.facts(), function.stage);
    kept.sgprs.iter().for_each(|n| set.insert(PhysReg::sgpr(*n as u16)));
    kept.vgprs.into_iter().flatten().for_each(|n| set.insert(PhysReg::vgpr(n.into())));
    set
}

/// Gives a function its entry registers. Returns the values of each argument, one for each register; none for an argument
/// that is not used.
pub fn enter(function: &mut MachineFunction, facts: &EntryFacts, args: &[EntryArg], used: &[bool]) -> Kept<Rows<Val>> {
    let mut vals = Kept::<Rows<Val>>::default();
    for ((arg, place), used) in args.iter().zip(&facts.args).zip(used) {
        let (class, reg): (_, fn(u16) -> PhysReg) = match arg.class {
            RegClass::Sgpr => (RegisterClass::Scalar, PhysReg::sgpr),
            RegClass::Vgpr => (RegisterClass::Vector, PhysReg::vgpr),
        };
        for n in place.iter().flat_map(|first| *first..first + registers(arg.ty)) {
            let val = used.then(|| function.value(class));
            function.entry.push(EntryValue { val, reg: reg(n) });
            val.into_iter().for_each(|val| vals.add(val));
        }
        vals.end();
    }
    vals
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::{Stage, WaveSize};
    use dovetail_ir::parse::parse;
    use dovetail_isa::Isa;

    #[test]
    fn values_are_made_for_what_is_used() {
        let text = "shader lower vertex \"t\"\nmodes 0 0 0 any any any any rte rte rte\nlower wave32 \"m\"\n\
            arg sgpr b32 system \"s\"\narg sgpr b64 system \"s\"\narg vgpr b32 system \"v\"\narg vgpr b64 system \"v\"\n\
            block0(v0: b32, v1: b64, v2: b32, v3: b64):\n v4: b64 = iadd v1, v3\n return";
        let shader = parse(text).expect("test text");
        let facts = EntryFacts::of(&shader, Gpu::Gfx1030).expect("facts");
        let args = &shader.lower.as_ref().expect("a lower-level shader").args;
        let mut function = MachineFunction::new(Isa::of(Gpu::Gfx1030), Stage::Vertex, WaveSize::W32);
        let vals = enter(&mut function, &facts, args, &facts.used);
        assert_eq!([0, 1, 2, 3].map(|n| vals.of(n).len()), [0, 2, 0, 2]);
        let regs: Vec<String> = function.entry.iter().map(|e| format!("{}{}", e.reg, e.val.is_some())).collect();
        assert_eq!(regs, ["s0false", "s1true", "s2true", "v0false", "v1true", "v2true"]);
    }
}
