//! PAL notes: what the pipeline ELF says about its code, before and after the link.
//!
//! [`note`] frames bytes, [`document`] is the msgpack tree in them, [`interface_io`] keeps a stage's pre-link interface in
//! that tree.

pub mod document;
pub mod interface;
pub mod interface_io;
pub mod note;
