//! Where the fields of an instruction are: one table for each encoding, from which code is encoded and decoded.
//!
//! Bits are counted through the dwords of an instruction, so bit 32 is the lowest of the second dword, as the
//! instruction set documents count them. A field that an encoding lacks is [`CodeField::NONE`]: it reads as 0, and nothing
//! but 0 can be stored in it.

mod field;
mod gfx10;
mod gfx11;
mod gfx12;
mod model;

pub(super) use field::CodeField;
pub(super) use gfx10::GFX10;
pub(super) use gfx11::GFX11;
pub(super) use gfx12::GFX12;
pub(super) use model::*;
