//! Image operations that take a sampler, by their modifiers.

use super::{Format, Op, OpcodeRow, Traits};

/// Modifiers of sampling operations: the traits that distinguish them.
const MODIFIERS: [Traits; 8] = [
    Traits::FOUR,
    Traits::REFERENCE,
    Traits::BIAS,
    Traits::LEVEL,
    Traits::LEVEL_ZERO,
    Traits::GRADIENTS,
    Traits::LEAST_LEVEL,
    Traits::OFFSET,
];

/// Sampling operations of an instruction set, indexed by their modifiers, one bit each.
pub(super) struct SamplingTable([Option<Op>; 1 << MODIFIERS.len()]);

const fn key(of: Traits) -> usize {
    let (mut key, mut n) = (0, 0);
    while n < MODIFIERS.len() {
        key |= (of.any(MODIFIERS[n]) as usize) << n;
        n += 1;
    }
    key
}

impl SamplingTable {
    pub(super) const fn new(rows: &[OpcodeRow]) -> Self {
        let mut table = [None; 1 << MODIFIERS.len()];
        let mut n = 0;
        while n < rows.len() {
            let row = &rows[n];
            n += 1;
            let other = row.is(Traits::G16) || matches!(row.op, Op::ImageGetLod | Op::ImageGather4h);
            let image = matches!(row.format, Format::Mimg | Format::Vsample);
            if !image || !row.is(Traits::SAMPLES) || other {
                continue;
            }
            // The first of equal ones; the later ones are the coarse derivatives.
            let place = key(row.traits);
            if table[place].is_none() {
                table[place] = Some(row.op);
            }
        }
        Self(table)
    }

    pub(super) const fn find(&self, modifiers: Traits) -> Option<Op> {
        self.0[key(modifiers)]
    }
}
