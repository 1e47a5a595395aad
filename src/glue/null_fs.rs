//! The fragment shader of a pipeline without one: it ends immediately.

use super::piece::{Attach, GluePiece, Recorder};
use crate::error::Result;
use crate::target::{Gpu, HardwareStage};

pub(super) fn emit(gfx: Gpu) -> Result<GluePiece> {
    let mut out = Recorder::new(gfx);
    out.end_program();
    out.finish(HardwareStage::Ps.entry_symbol(), Attach::Alone)
}
