//! `s_delay_alu`: says on which earlier results the next instructions depend, so that the wave does not stall in the unit.
//!
//! It is a hint: code is right without it (AMD, "RDNA 3 Instruction Set Architecture", S_DELAY_ALU).

use super::{Instruction, Isa, Op};
use dovetail_base::error::{Error, Result};

/// An earlier instruction, by how many of its kind are after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluDependence {
    /// A vector operation, 1 to 4 back.
    Vector(u8),
    /// A transcendental operation, 1 to 3 back.
    Transcendental(u8),
    /// The accumulation directly before.
    Accumulation,
    /// A scalar operation, 1 to 3 cycles ago.
    Scalar(u8),
}

impl AluDependence {
    /// Its number in the constant; `None` if it is too far back.
    const fn number(self) -> Option<u16> {
        let (first, back, most) = match self {
            Self::Vector(back) => (1, back, 4),
            Self::Transcendental(back) => (5, back, 3),
            Self::Accumulation => (8, 1, 1),
            Self::Scalar(back) => (9, back, 3),
        };
        if back >= 1 && back <= most { Some(first + back as u16 - 1) } else { None }
    }
}

impl Instruction {
    /// `s_delay_alu` for the next instruction, and for the one that is `further` instructions later, 0 to 5.
    ///
    /// # Errors
    /// A bug of the caller: a dependence or the second instruction is too far away.
    pub fn delay(isa: &'static Isa, next: AluDependence, further: Option<(u8, AluDependence)>) -> Result<Self> {
        let number = |dependence: AluDependence| {
            dependence.number().ok_or_else(|| Error::bug(format!("{dependence:?}: too far for s_delay_alu")))
        };
        let second = match further {
            None => 0,
            Some((later @ 0..=5, dependence)) => u16::from(later) << 4 | number(dependence)? << 7,
            Some((later, _)) => return Err(Error::bug(format!("{later} instructions later: 5 are the most"))),
        };
        Ok(Self::program(isa, Op::SDelayAlu, number(next)? | second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::WaveSize;

    #[test]
    fn a_delay_names_what_it_waits_for() {
        let isa = Isa::of("gfx1100".parse().expect("known"));
        let text = |next, further| Instruction::delay(isa, next, further).map(|inst| inst.text(isa, WaveSize::W32));
        let vector = AluDependence::Vector(1);
        assert_eq!(text(vector, None).as_deref(), Ok("s_delay_alu instid0(VALU_DEP_1)"));
        let both = text(AluDependence::Transcendental(3), Some((2, AluDependence::Scalar(2))));
        let said = "s_delay_alu instid0(TRANS32_DEP_3) | instskip(SKIP_1) | instid1(SALU_CYCLE_2)";
        assert_eq!(both.as_deref(), Ok(said));
        assert!(text(AluDependence::Vector(5), None).is_err() && text(vector, Some((6, vector))).is_err());
        assert!(text(AluDependence::Scalar(0), None).is_err());
    }
}
