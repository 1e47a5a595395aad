//! Rejects shaders that exceed limits of the hardware, or of values passed between separately compiled parts, so that
//! all code generators accept the same shaders.
//!
//! | limited | maximum | above |
//! | --- | --- | --- |
//! | invocations of a workgroup | 1024 (and at least one) | refused |
//! | workgroup memory | 65,536 bytes, in compute shaders | refused |
//! | SGPRs, VGPRs that the entry takes or a return passes | 44, 136 | needs a whole-pipeline compile |

use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::{RegClass, Shader, Terminator, Type};
use dovetail_metadata::interface::MAX_JOINT_VGPRS;

/// Limit of SGPRs that a calling convention passes or returns.
const MAX_SGPRS: u32 = 44;
/// Limit of invocations per workgroup in hardware.
const MAX_WORKGROUP: u32 = 1024;
/// Limit of workgroup memory, in bytes.
const MAX_SHARED: u32 = 1 << 16;

/// Checks the limits.
///
/// # Errors
/// Unsupported: a workgroup or its memory is too large. Malformed: workgroup memory in another stage.
/// `NeedsFullCompile`: more values than registers can pass.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let size = shader.modes.local_size;
    let invocations = size.iter().fold(1u32, |n, d| n.saturating_mul(*d));
    if shader.stage.has_workgroups() && !(1..=MAX_WORKGROUP).contains(&invocations) {
        let detail = format!("{size:?}, in all 1 to {MAX_WORKGROUP} invocations");
        return Err(Error::unsupported("workgroup size", detail));
    }
    if !shader.stage.has_workgroups() && shader.shared_bytes > 0 {
        return Err(Error::malformed(format!("workgroup memory in a {} shader", shader.stage)));
    }
    if shader.shared_bytes > MAX_SHARED {
        let detail = format!("{} bytes, the hardware has {MAX_SHARED}", shader.shared_bytes);
        return Err(Error::unsupported("workgroup memory size", detail));
    }
    let Some(info) = &shader.lower else { return Ok(()) };
    let (inputs, outputs) = match shader.stage {
        Stage::Vertex => ("vertex inputs", "vertex parameters"),
        Stage::Fragment => ("fragment inputs", "fragment colours"),
        Stage::Compute => ("compute arguments", "compute results"),
    };
    fits(inputs, info.args.iter().map(|arg| (arg.class, arg.ty)))?;
    shader.blocks.iter().try_for_each(|block| match block.term() {
        Some(Terminator::Return(values)) => {
            fits(outputs, info.returns.iter().zip(values).map(|(class, v)| (*class, shader.ty(*v))))
        }
        _ => Ok(()),
    })
}

/// Checks that registers suffice to pass these values.
fn fits(what: &str, values: impl Iterator<Item = (RegClass, Type)>) -> Result<()> {
    let (mut sgprs, mut vgprs) = (0, 0);
    for (class, ty) in values {
        *if class == RegClass::Sgpr { &mut sgprs } else { &mut vgprs } += ty.total_bits().div_ceil(32);
    }
    for (count, most) in [(sgprs, MAX_SGPRS), (vgprs, MAX_JOINT_VGPRS)] {
        if count > most {
            return Err(Error::needs_full(FullCompile::TooManyValues { what: what.to_owned(), count }));
        }
    }
    Ok(())
}
