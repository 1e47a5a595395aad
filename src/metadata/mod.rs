//! PAL notes: what the pipeline ELF says about its code, before and after the link.

pub mod interface;
