//! Image operations that take a sampler, by their modifiers.

use super::{Format, Op, Traits, rows};
use crate::target::Family;
use std::sync::LazyLock;

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

/// Sampling operations of a family, indexed by their modifiers, one bit each.
type SamplingTable = LazyLock<[Option<Op>; 256]>;

fn key(has: impl Fn(Traits) -> bool) -> usize {
    MODIFIERS.iter().zip(0..).filter(|(m, _)| has(**m)).fold(0usize, |key, (_, bit)| key | 1 << bit)
}

fn table(family: Family) -> [Option<Op>; 256] {
    let mut table = [None; 256];
    for row in rows(family) {
        let other = row.is(Traits::G16) || matches!(row.op, Op::ImageGetLod | Op::ImageGather4h);
        if row.format != Format::Mimg || !row.is(Traits::SAMPLES) || other {
            continue;
        }
        // The first of equal ones; the later ones are the coarse derivatives.
        table[key(|modifier| row.is(modifier))].get_or_insert(row.op);
    }
    table
}

/// The sampling operation with exactly these modifiers, if a family has one.
pub fn sampling(family: Family, modifiers: Traits) -> Option<Op> {
    static GFX103: SamplingTable = LazyLock::new(|| table(Family::Gfx103));
    let table = match family {
        Family::Gfx103 => &GFX103,
    };
    table[key(|modifier| modifiers.any(modifier))]
}
