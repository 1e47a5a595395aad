//! Executes an upper-level [`Shader`](dovetail_ir::Shader): the reference between the front end and the code generator.
//!
//! A *wave* is a subgroup (a power of two from 4 to 64 lanes) in lockstep; a workgroup's waves run one after the other,
//! each until a barrier or its end. `order` decides which lanes run together. Each component of a value is held as bits
//! in one `u64` per lane, with a [`Shadow`] if requested.
//!
//! An operation that is not implemented is an error that names it. To add an operation, add an arm to `exec`; for
//! arithmetic, add it to `ir::number`, its error to `shadow`, and also to `bits` if shaders apply it to a float's bits.

mod atomic;
mod bits;
mod bounds;
mod cube;
mod exec;
mod footprint;
mod global;
mod image;
mod lanes;
mod lod;
mod machine;
mod memory;
mod order;
mod plane;
mod races;
mod residency;
mod run;
mod shadow;
#[cfg(test)]
mod tests;
mod texture;
mod wave;
mod world;

pub use dovetail_ir::number::{decode, encode, float, integer};
pub use memory::{Difference, MemoryVerdict, ShadowedMemory};
pub use plane::Plane;
pub use races::{Race, Races};
pub use run::{dispatch, invoke};
pub use shadow::Shadow;
pub use texture::{AddressMode, Filter, InterpretedSampler, ShadowedTexel, Texture};
pub use world::{Compared, InterpreterStats, Invocation, Options, WatchedByte, World, WriterInvocation};
