//! What every other crate stands on: errors, targets, and the small tables and readers that know no shader.

pub mod elf;
pub mod error;
pub mod fallible;
pub mod files;
pub mod fixed;
pub mod frame;
pub mod kinds;
pub mod near_table;
pub mod rows;
pub mod table;
pub mod target;
pub mod workspace;
