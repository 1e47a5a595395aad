//! The rules of the stage interfaces, in one place: plans from which `glue` makes machine code and `compile` makes IR.

pub mod content_id;
pub mod exports;
pub mod fetch;
pub mod formats;
pub mod layout;
pub mod params;
pub mod samplers;
pub mod user_data;
pub mod vertex_entry;
