//! `SPV_AMD_shader_explicit_vertex_parameter`: an input as one vertex of the primitive has it.

use super::super::cx::{Cx, SpirvInst};
use super::super::operands::set_result;
use dovetail_base::error::{Error, Result};

/// The name of the instruction set.
pub(super) const SET: &str = "SPV_AMD_shader_explicit_vertex_parameter";

/// Translates an instruction of the set.
///
/// # Errors
/// Malformed operands; numbers that the set does not have.
pub(super) fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let number = inst.literal(1)?;
    if number != 1 {
        return Err(Error::unsupported(format!("{SET} {number}"), inst.place()));
    }
    let vertex = cx.const_u32(inst.id(3)?)?;
    let vertex = u8::try_from(vertex).ok().filter(|vertex| *vertex < 3);
    let vertex = vertex.ok_or_else(|| inst.malformed("a vertex is 0, 1 or 2"))?;
    let values = cx.at_vertex(inst.id(2)?, vertex)?;
    set_result(cx, inst, values)
}
