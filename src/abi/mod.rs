//! The rules of the stage interfaces, in one place: plans that `glue` turns into machine code and `compile` into IR.

pub mod exports;
pub mod fetch;
pub mod formats;
pub mod layout;
pub mod params;
pub mod samplers;
pub mod user_data;
