//! The constant of `s_waitcnt`: its three counters, packed into 16 bits.

use std::fmt;

/// Counts of `s_waitcnt`: it waits until at most this many operations of each kind are outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waitcnt {
    /// Vector memory loads, 6 bits.
    pub vm: u8,
    /// Exports, 3 bits.
    pub exp: u8,
    /// Scalar memory, LDS and messages, 6 bits.
    pub lgkm: u8,
}

impl Waitcnt {
    /// Waits for nothing.
    pub const NONE: Self = Self { vm: 63, exp: 7, lgkm: 63 };
    /// Waits for all vector loads.
    pub const VM: Self = Self { vm: 0, ..Self::NONE };
    /// Waits until all exports have read their registers.
    pub const EXP: Self = Self { exp: 0, ..Self::NONE };
    /// Waits for all scalar loads.
    pub const LGKM: Self = Self { lgkm: 0, ..Self::NONE };

    /// The fields of an encoded constant.
    pub const fn from_imm(imm: u16) -> Self {
        Self { vm: (imm & 15 | imm >> 14 << 4) as u8, exp: (imm >> 4 & 7) as u8, lgkm: (imm >> 8 & 63) as u8 }
    }

    /// The encoded constant; a count that its field cannot hold waits for nothing.
    pub fn imm(self) -> u16 {
        let [vm, exp, lgkm] =
            [self.vm.min(Self::NONE.vm), self.exp.min(Self::NONE.exp), self.lgkm.min(Self::NONE.lgkm)].map(u16::from);
        vm >> 4 << 14 | lgkm << 8 | exp << 4 | vm & 15
    }
}

impl fmt::Display for Waitcnt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = *self == Self::NONE;
        let counts = [
            ("vmcnt", self.vm, Self::NONE.vm),
            ("expcnt", self.exp, Self::NONE.exp),
            ("lgkmcnt", self.lgkm, Self::NONE.lgkm),
        ];
        let shown = counts.iter().filter(|(_, count, most)| all || count < most);
        let shown: Vec<String> = shown.map(|(name, count, _)| format!("{name}({count})")).collect();
        f.write_str(&shown.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::Waitcnt;

    #[test]
    fn a_count_beyond_its_field_waits_for_nothing() {
        let beyond = Waitcnt { vm: 64, exp: 8, lgkm: 200 };
        assert_eq!(beyond.imm(), Waitcnt::NONE.imm());
        for imm in (0..=u16::MAX).filter(|imm| imm & 0x80 == 0) {
            assert_eq!(Waitcnt::from_imm(imm).imm(), imm);
        }
    }
}
