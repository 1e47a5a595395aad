//! Merges the notes of several parts into those of one pipeline, by the rules of the tables (pal-abi 2.7).
//!
//! The order of the parts does not matter: every rule is commutative, and a contradiction is an error in any order.

use super::notes::{Fields, Notes};
use super::registers::Registers;
use super::schema::Merge;
use crate::error::{Error, Result};

/// Adds the notes of one more part.
///
/// # Errors
/// Malformed: both give one hardware stage, or contradict each other.
pub fn merge(into: &mut Notes, part: &Notes) -> Result<()> {
    merge_fields(&mut into.pipeline, &part.pipeline)?;
    for (stage, fields) in &part.stages {
        if into.stages.insert(*stage, fields.clone()).is_some() {
            return Err(Error::malformed(format!("two parts are the {stage} stage")));
        }
    }
    merge_registers(&mut into.registers, &part.registers)
}

fn merge_fields(into: &mut Fields, part: &Fields) -> Result<()> {
    for (key, value) in part {
        let merged = together(key.merge(), into.get(key).copied(), *value)
            .ok_or_else(|| Error::malformed(format!("the parts give {key} different values")))?;
        into.insert(*key, merged);
    }
    Ok(())
}

fn merge_registers(into: &mut Registers, part: &Registers) -> Result<()> {
    for (register, word) in part.iter() {
        let rule = register.info().map_or(Merge::Same, |i| i.merge);
        let merged = together(rule, into.get(register), word)
            .ok_or_else(|| Error::malformed(format!("the parts give {} different values", register.name())))?;
        into.set(register, merged);
    }
    Ok(())
}

fn together(rule: Merge, a: Option<u32>, b: u32) -> Option<u32> {
    a.map_or(Some(b), |a| rule.apply(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::registers::{SPI_BARYC_CNTL, VGT_SHADER_STAGES_EN};
    use crate::metadata::schema::Key;
    use crate::target::Stage;

    fn part(stage: Stage, spill: u32, limit: u32, stages_en: u32) -> Notes {
        let mut notes = Notes::default();
        notes.stages.insert(stage, Fields::from([(Key::SgprCount, 8)]));
        notes.pipeline = Fields::from([(Key::SpillThreshold, spill), (Key::UserDataLimit, limit)]);
        notes.registers.set(VGT_SHADER_STAGES_EN, stages_en);
        notes
    }

    #[test]
    fn each_key_follows_its_rule_in_any_order() {
        let (a, b) = (part(Stage::Vertex, 5, 2, 0x80_0000), part(Stage::Fragment, 3, 9, 0x40_0000));
        for (first, second) in [(&a, &b), (&b, &a)] {
            let mut all = Notes::default();
            merge(&mut all, first).unwrap();
            merge(&mut all, second).unwrap();
            assert_eq!(all.pipeline[&Key::SpillThreshold], 3);
            assert_eq!(all.pipeline[&Key::UserDataLimit], 9);
            assert_eq!(all.registers.get(VGT_SHADER_STAGES_EN), Some(0xc0_0000));
            assert_eq!(all.stages.len(), 2);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let (mut a, mut b) = (part(Stage::Vertex, 0, 0, 0), part(Stage::Fragment, 0, 0, 0));
        assert!(merge(&mut a.clone(), &a).unwrap_err().to_string().contains("two parts"));
        a.registers.set(SPI_BARYC_CNTL, 1);
        b.registers.set(SPI_BARYC_CNTL, 2);
        assert!(merge(&mut a, &b).unwrap_err().to_string().contains("SPI_BARYC_CNTL"));
    }
}
