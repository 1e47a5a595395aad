//! The rules of the stage interfaces, once: plans that `glue` turns into machine code and `compile` into IR.

pub mod layout;
pub mod user_data;
