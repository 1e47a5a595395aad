//! Link-time symbols, relocation kinds, and the patching of bytes.

pub mod apply;
pub mod kind;
pub mod symbol;
