//! The prologue of a primitive shader whose body knows that it is one: the lanes that have a vertex are on from here on. A wave
//! without any goes on too, since its epilog exports primitives; the body steps over its code (LLPC; Mesa's
//! `ac_nir_lower_ngg`).

use super::piece::{Attach, GluePiece, Recorder};
use super::primitive_lanes::{WAVE_VERTICES, set_exec};
use dovetail_base::error::Result;
use dovetail_base::target::{HardwareStage, WaveSize};
use dovetail_isa::Isa;

pub(super) fn emit(isa: &'static Isa, wave: WaveSize) -> Result<GluePiece> {
    let mut out = Recorder::new(isa);
    out.begin_exports();
    set_exec(&mut out, wave, WAVE_VERTICES)?;
    out.finish(HardwareStage::Gs.entry_symbol(), Attach::Before)
}
