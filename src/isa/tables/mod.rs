//! Opcode numbers, by generation.

mod gfx1030;

use crate::isa::Op;
use crate::target::GfxIp;

/// Where the VOP2 numbers begin among those of VOP3: every VOP2 instruction has its long form there.
pub(super) const VOP2_IN_VOP3: u32 = 256;

/// The number of an instruction in its own format (a VOP2 number, not that of its VOP3 form).
pub const fn opcode(gfx: GfxIp, op: Op) -> u16 {
    match gfx {
        GfxIp::Gfx1030 => gfx1030::opcode(op),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of all opcodes that the disassembler knows: what we call by name must have that number.
    const GFX1030: &str = include_str!("../../../testdata/isa/opcodes-gfx1030.tsv");

    #[test]
    fn numbers_are_those_of_the_disassembler() {
        for &op in Op::ALL {
            let number = GFX1030.lines().find_map(|line| {
                let mut columns = line.split('\t');
                let [format, number, mnemonic] = [columns.next()?, columns.next()?, columns.next()?];
                (format == op.format().name() && mnemonic == op.mnemonic()).then(|| number.to_owned())
            });
            assert_eq!(number, Some(opcode(GfxIp::Gfx1030, op).to_string()), "{}", op.mnemonic());
        }
    }
}
