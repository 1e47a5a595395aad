//! The parameter epilog: exports the vertex body's outputs to the slots that the fragment shader reads.

use super::piece::{Attach, GluePiece, Recorder};
use dovetail_abi::params::{MAX_ATTRIBUTES, ParamExport, ParamPlan};
use dovetail_base::error::{Error, Result};
use dovetail_isa::{Counter, ExpSources, ExpTarget, Instruction, Isa, Src, Vgpr};
use dovetail_metadata::interface::ParamSource;
use serde::{Deserialize, Serialize};

/// Symbol of a parameter epilog.
pub const PARAM_EXPORT_SYMBOL: &str = "dovetail_param_export";

/// All inputs of a parameter epilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ParamExportKey {
    /// Vectors in export order.
    pub exports: Vec<ParamExport>,
}

impl ParamExportKey {
    /// The key of a plan's epilog exports.
    pub fn new(plan: &ParamPlan) -> Self {
        Self { exports: plan.epilog_exports().cloned().collect() }
    }

    /// Registers of returned values that are exported.
    fn registers(&self) -> impl Iterator<Item = u32> {
        self.exports.iter().flat_map(|export| export.channels).filter_map(|source| match source {
            Some(ParamSource::Vgpr(register)) => Some(register),
            _ => None,
        })
    }
}

pub(super) fn emit(isa: &'static Isa, key: &ParamExportKey) -> Result<GluePiece> {
    let mut out = Recorder::new(isa);
    let constants = constants(key, &mut out)?;
    for export in &key.exports {
        let mut sources = [None; 4];
        for (channel, source) in export.channels.iter().zip(&mut sources) {
            *source = match channel {
                None => None,
                Some(ParamSource::Vgpr(register)) => Some(out.vgpr(*register)?),
                Some(ParamSource::Constant(bits)) => constants.iter().find(|(b, _)| b == bits).map(|(_, v)| *v),
                Some(ParamSource::Exported) => return Err(Error::malformed("exported by the body already")),
            };
        }
        let slot = Some(export.slot).filter(|slot| usize::from(*slot) < MAX_ATTRIBUTES);
        let slot = slot.ok_or_else(|| Error::malformed(format!("no parameter slot {}", export.slot)))?;
        let target = ExpTarget::Param(slot);
        out.push(Instruction::export(isa, target, ExpSources::Full(sources), false, false)?);
    }
    out.end_program();
    out.finish(PARAM_EXPORT_SYMBOL, Attach::After)
}

/// Loads each constant into a register, since exports read registers only. Before that, the body's exports have to have read
/// theirs.
fn constants(key: &ParamExportKey, out: &mut Recorder) -> Result<Vec<(u32, Vgpr)>> {
    let mut constants: Vec<(u32, Vgpr)> = Vec::new();
    let mut free = (0..).filter(|number| !key.registers().any(|register| register == *number));
    for source in key.exports.iter().flat_map(|export| export.channels).flatten() {
        if let ParamSource::Constant(bits) = source
            && !constants.iter().any(|(known, _)| *known == bits)
        {
            if constants.is_empty() {
                out.wait(Counter::Export);
            }
            let register = out.vgpr(free.next().unwrap_or(u32::MAX))?;
            out.mov(register, Src::from_bits(bits));
            constants.push((bits, register));
        }
    }
    Ok(constants)
}
