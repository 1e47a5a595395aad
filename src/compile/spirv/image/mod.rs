//! Translates image instructions to [`ImageInst`]: sampling, gathers, fetches, storage images, texel atomics, queries.
//!
//! Everything that can be arithmetic is done here: projective division, offsets of integer coordinates, the pixel
//! position of input attachments, four gathers for four offsets, and the conversion of the returned texel to the result
//! type. [`Sources`] collects the operands by name and arranges them in the order of [`ImageInst::operands`].
//!
//! [`ImageInst`]: dovetail_ir::ImageInst
//! [`ImageInst::operands`]: dovetail_ir::ImageInst::operands
//! [`Sources`]: shape::Sources

mod access;
pub mod operands;
mod query;
mod sample;
mod shape;

pub use access::texel_atomic;

use super::cx::{Cx, LeafValues, SpirvInst};
use super::operands::set_result;
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, ImageOp};
use spirv::Op;

/// The non-sparse equivalent of an instruction, and whether it was sparse.
fn plain(op: Op) -> (Op, bool) {
    let plain = match op {
        Op::ImageSparseSampleImplicitLod => Op::ImageSampleImplicitLod,
        Op::ImageSparseSampleExplicitLod => Op::ImageSampleExplicitLod,
        Op::ImageSparseSampleDrefImplicitLod => Op::ImageSampleDrefImplicitLod,
        Op::ImageSparseSampleDrefExplicitLod => Op::ImageSampleDrefExplicitLod,
        Op::ImageSparseFetch => Op::ImageFetch,
        Op::ImageSparseGather => Op::ImageGather,
        Op::ImageSparseDrefGather => Op::ImageDrefGather,
        Op::ImageSparseRead => Op::ImageRead,
        other => return (other, false),
    };
    (plain, true)
}

/// Translates an image instruction; false if it is not one.
///
/// # Errors
/// Malformed operands; unsupported: some rare forms.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let (op, sparse) = plain(inst.op());
    let kind = |gather, compare, projective| sample::SampleKind { gather, compare, projective, sparse };
    match op {
        Op::SampledImage => {
            let parts = [cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?];
            set_result(cx, inst, LeafValues::from_slice(&parts))?;
        }
        Op::Image => {
            let image = shape::image_leaf(cx, inst, inst.id(0)?)?;
            set_result(cx, inst, LeafValues::from_slice(&[image]))?;
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
        Op::ImageFetch => access::read(cx, inst, true, sparse)?,
        Op::ImageRead => access::read(cx, inst, false, sparse)?,
        Op::ImageSparseTexelsResident => {
            let (code, zero) = (operands::integer(cx, inst.id(0)?)?, cx.b.c32(0));
            let resident = cx.b.alu(AluOp::IEq, &[code, zero]);
            set_result(cx, inst, LeafValues::from_slice(&[resident]))?;
        }
        Op::ImageWrite => access::write(cx, inst)?,
        Op::ImageQuerySizeLod | Op::ImageQuerySize => query::size(cx, inst)?,
        Op::ImageQueryLevels => query::count(cx, inst, ImageOp::QueryLevels)?,
        Op::ImageQuerySamples => query::count(cx, inst, ImageOp::QuerySamples)?,
        Op::ImageQueryLod => query::lod(cx, inst)?,
        // Reserved opcodes.
        Op::ImageSparseSampleProjImplicitLod
        | Op::ImageSparseSampleProjExplicitLod
        | Op::ImageSparseSampleProjDrefImplicitLod
        | Op::ImageSparseSampleProjDrefExplicitLod => return Err(inst.not_translated()),
        _ => return Ok(false),
    }
    Ok(true)
}
