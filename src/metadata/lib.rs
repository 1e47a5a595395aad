//! PAL notes: the metadata of the pipeline ELF, before and after the link.
//!
//! [`note`] frames bytes, [`document`] is the msgpack tree in them, and [`interface_io`] stores a stage's pre-link
//! interface in that tree. [`write_unlinked`] writes the whole document of an unlinked ELF, and [`read_unlinked`] reads
//! it: the interface, and [`notes`], the rest as numbers. [`part_notes`] adds, once per part, what depends on the part
//! alone; [`finalize`] merges the parts and adds what depends on the pipeline, and [`write_v2`] encodes the result;
//! [`named`] expresses the same as version 3.0. [`schema`] and [`registers`] are the tables that all of them use.

pub mod document;
pub mod facts;
mod fields;
pub mod final_registers;
pub mod finalize;
mod graphics;
pub mod interface;
pub mod interface_io;
mod msgpack;
mod msgpack_read;
pub mod named;
mod named_fields;
pub mod ngg;
pub mod note;
pub mod notes;
pub mod part_notes;
mod read_notes;
pub mod read_unlinked;
pub mod ready_notes;
mod register;
mod register_words;
pub mod registers;
pub mod schema;
pub mod stage_kind;
pub mod stage_text;
pub mod user_data;
pub mod write_unlinked;
pub mod write_v2;
