//! Image instructions to [`ImageInst`]: sampling, gathers, fetches, storage images, texel atomics, queries.
//!
//! Everything that can be arithmetic is done here: projective division, offsets of integer coordinates, the pixel
//! position of input attachments, four gathers for four offsets, and the conversion of what came back to the result
//! type. [`Sources`] collects the operands by name and lays them out in the order that [`ImageInst::operands`] tells.

mod access;
pub mod operands;
mod query;
mod sample;
mod shape;

pub use access::texel_atomic;

use super::cx::{Cx, Inst, Values};
use super::operands::set_result;
use crate::error::Result;
use crate::ir::ImageOp;
use spirv::Op;
use std::ops::RangeInclusive;

/// Opcodes whose results carry residency.
const SPARSE: RangeInclusive<u32> = Op::ImageSparseSampleImplicitLod as u32..=Op::ImageSparseRead as u32;

/// Translates an image instruction; false: not one.
///
/// # Errors
/// Malformed operands; unsupported: sparse residency, some rare forms.
pub fn translate(cx: &mut Cx<'_>, inst: &Inst) -> Result<bool> {
    let kind = |gather, compare, projective| sample::Kind { gather, compare, projective };
    match inst.op() {
        Op::SampledImage => {
            let parts = [cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?];
            set_result(cx, inst, Values::from_slice(&parts))?;
        }
        Op::Image => {
            let image = shape::image_leaf(cx, inst, inst.id(0)?)?;
            set_result(cx, inst, Values::from_slice(&[image]))?;
        }
        Op::ImageSampleImplicitLod | Op::ImageSampleExplicitLod => {
            sample::translate(cx, inst, kind(false, false, false))?
        }
        Op::ImageSampleDrefImplicitLod | Op::ImageSampleDrefExplicitLod => {
            sample::translate(cx, inst, kind(false, true, false))?
        }
        Op::ImageSampleProjImplicitLod | Op::ImageSampleProjExplicitLod => {
            sample::translate(cx, inst, kind(false, false, true))?
        }
        Op::ImageSampleProjDrefImplicitLod | Op::ImageSampleProjDrefExplicitLod => {
            sample::translate(cx, inst, kind(false, true, true))?;
        }
        Op::ImageGather => sample::translate(cx, inst, kind(true, false, false))?,
        Op::ImageDrefGather => sample::translate(cx, inst, kind(true, true, false))?,
        Op::ImageFetch | Op::ImageRead => access::read(cx, inst)?,
        Op::ImageWrite => access::write(cx, inst)?,
        Op::ImageQuerySizeLod | Op::ImageQuerySize => query::size(cx, inst)?,
        Op::ImageQueryLevels => query::count(cx, inst, ImageOp::QueryLevels)?,
        Op::ImageQuerySamples => query::count(cx, inst, ImageOp::QuerySamples)?,
        Op::ImageQueryLod => query::lod(cx, inst)?,
        op if SPARSE.contains(&(op as u32)) => return Err(inst.not_translated()),
        _ => return Ok(false),
    }
    Ok(true)
}
