//! PAL notes: what the pipeline ELF says about its code, before and after the link.
//!
//! [`note`] frames bytes, [`document`] is the msgpack tree in them, [`interface_io`] keeps a stage's pre-link interface in
//! that tree, [`write_unlinked`] writes the whole of an unlinked ELF's and [`read_unlinked`] reads it. For the link, [`notes`] turns a part's document into
//! numbers and [`part_notes`] adds what the part decides by itself, once a part; [`finalize`] merges the parts and adds what
//! only the pipeline decides, and [`write_v2`] encodes the result; [`named`] says the same
//! in the words of version 3.0. [`schema`] and [`registers`] are the tables that all of
//! them follow.

pub mod document;
mod fields;
pub mod finalize;
mod graphics;
pub mod interface;
pub mod interface_io;
mod msgpack;
pub mod named;
pub mod note;
pub mod notes;
pub mod part_notes;
pub mod read_unlinked;
mod register_words;
pub mod registers;
pub mod schema;
pub mod stage_text;
pub mod user_data;
pub mod write_unlinked;
pub mod write_v2;
