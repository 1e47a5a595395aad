//! Stage inputs: fetched registers of a vertex shader, attributes of a fragment shader.
//!
//! | vertex state | vertex input |
//! |---|---|
//! | unknown | entry VGPRs from v4 on, one per dword; 8 and 16 bits are in the low bits |
//! | known | typed loads at the top of the shader, or the default (0, 0, 0, 1); see `fetch` |
//!
//! Fragment inputs are numbered without gaps, locations first and then built-ins; see `interpolate`.

use super::context::PassContext;
use super::entry_values::{Entry, component_type};
use super::{address, fetch, interpolate};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, Bits, Builder, Inst, NumericKind, Op, Shader, Type, Value};

/// Lowers `LoadInput`, and the built-ins that are attributes.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    match shader.stage {
        Stage::Vertex => {
            if let Some(state) = cx.request.known.vertex.get() {
                fetch::run(shader, cx, state)?;
            }
            rewrite(shader, |b, inst| match inst.op {
                Op::LoadInput { location, component, kind, .. } => {
                    Ok(Rewrite::Value(fetched(b, &cx.entry, inst, (location, component, kind))?))
                }
                _ => Ok(Rewrite::Keep),
            })
        }
        Stage::Fragment => interpolate::run(shader, cx),
        Stage::Compute => Ok(()),
    }
}

/// A component of a fetched input.
fn fetched(b: &mut Builder<'_>, entry: &Entry, inst: &Inst, at: (u32, u8, NumericKind)) -> Result<Value> {
    let (location, component, kind) = at;
    let ty = inst.result.map_or(Type::B32, |v| b.ty(v));
    let dwords = entry.fetched.get(&(location, component, component_type(kind, ty)?));
    match dwords.map(|dwords| dwords.as_slice()) {
        Some(&[low, high]) => {
            let pair = b.value(Op::Compose, &[low, high], address::PAIR);
            Ok(b.bitcast(pair, ty))
        }
        Some(&[dword]) if ty.bits() == Bits::B32 => Ok(dword),
        Some(&[dword]) => Ok(b.convert(AluOp::Trunc, dword, ty)),
        _ => Err(Error::bug(format!("location {location} component {component} is not among the fetches"))),
    }
}
