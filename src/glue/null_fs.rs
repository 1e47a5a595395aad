//! The fragment shader of a pipeline without one: it ends immediately.

use super::piece::{Attach, GluePiece, Recorder};
use dovetail_base::error::Result;
use dovetail_base::target::HardwareStage;
use dovetail_isa::Isa;

pub(super) fn emit(isa: &'static Isa) -> Result<GluePiece> {
    let mut out = Recorder::new(isa);
    out.end_program();
    out.finish(HardwareStage::Ps.entry_symbol(), Attach::Alone)
}
