//! Link-time symbols, relocation kinds, and the patching of bytes.

pub mod symbol;
