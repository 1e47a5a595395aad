//! Image access through a T# and an S# (isa-gfx10 4.4 to 4.6).

use super::memory::Memory;
use super::wave::Wave;
use crate::error::{Error, Result};
use crate::isa::instruction::{ImageFields, Instruction};

/// What an image instruction does.
#[derive(Clone, Copy)]
pub enum Image {}

/// The operation of a name.
pub fn resolve(_name: &str) -> Option<Image> {
    None
}

/// Executes one instruction.
pub fn execute(
    op: Image,
    _inst: &Instruction,
    _fields: &ImageFields,
    _wave: &mut Wave,
    _memory: &mut Memory,
) -> Result<()> {
    let _ = Error::bug("");
    match op {}
}
