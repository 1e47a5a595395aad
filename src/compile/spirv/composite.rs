//! Composites: rearranges leaves; no code results.

use super::cx::{Cx, Def, LeafValues, SpirvInst, TypeId};
use super::join::{at_offset, check, joinable};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Type, Value};
use spirv::Op;

/// Translates a composite instruction or a selection; false if it is not one.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let values = match inst.op() {
        Op::CompositeConstruct => {
            let mut all = LeafValues::new();
            for id in inst.ids_from(0) {
                all.extend(cx.values(id?)?);
            }
            all
        }
        Op::CompositeConstructReplicateEXT => {
            let one = cx.values(inst.id(0)?)?;
            let count = cx.types.leaf_count(cx.result_type(inst)?)?;
            one.iter().copied().cycle().take(if one.is_empty() { 0 } else { count }).collect()
        }
        Op::CompositeExtract => {
            let from = cx.type_id(inst.id(0)?)?;
            let (at, len) = cx.leaf_range(inst, from, 1)?;
            cx.part(inst.id(0)?, at, len)?
        }
        Op::CompositeInsert => {
            let whole = cx.type_id(inst.id(1)?)?;
            let (at, len) = cx.leaf_range(inst, whole, 2)?;
            let part = cx.values_n(inst.id(0)?, len)?;
            let mut all = cx.values(inst.id(1)?)?;
            let Some(to) = all.get_mut(at..at.saturating_add(len)) else { return Err(inst.malformed("out of range")) };
            to.copy_from_slice(&part);
            all
        }
        Op::VectorShuffle => {
            let (a, b) = (cx.values(inst.id(0)?)?, cx.values(inst.id(1)?)?);
            let get = |i: usize| a.get(i).or_else(|| b.get(i.checked_sub(a.len())?)).copied();
            let Some(ty) = cx.types.component(cx.result_type(inst)?) else { return Err(inst.malformed("no vector")) };
            let mut out = LeafValues::new();
            for n in 2..inst.len() {
                out.push(match inst.literal(n)? {
                    u32::MAX => cx.b.undef(ty),
                    i => get(i as usize).ok_or_else(|| inst.malformed(format!("component {i} out of range")))?,
                });
            }
            out
        }
        Op::VectorExtractDynamic => {
            let all = cx.values(inst.id(0)?)?;
            extract_dynamic(cx, inst, &all, inst.id(1)?)?
        }
        Op::VectorInsertDynamic => insert_dynamic(cx, inst)?,
        Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => cx.values(inst.id(0)?)?,
        Op::Undef => {
            let types = cx.types.leaf_types(cx.result_type(inst)?)?;
            types.iter().map(|&t| cx.b.undef(t)).collect()
        }
        Op::Select => match select(cx, inst)? {
            Some(values) => values,
            None => return Ok(true),
        },
        _ => return Ok(false),
    };
    let types = cx.types.leaf_types(cx.result_type(inst)?)?;
    check(cx, &values, &types)?;
    cx.set(inst.result()?, values);
    Ok(true)
}

/// The component at a dynamic index; any value if it is out of range.
fn extract_dynamic(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, all: &[Value], index: u32) -> Result<LeafValues> {
    if let Some(bits) = cx.const_bits(index)? {
        let found = all.get(bits as usize).or(all.last()).copied();
        return Ok(found.into_iter().collect());
    }
    let index = cx.value(index)?;
    let index = cx.bounded(index, all.len());
    let ty = cx.b.ty(index);
    let Some((&last, rest)) = all.split_last() else { return Err(inst.malformed("of an empty vector")) };
    let mut out = last;
    for (i, &v) in rest.iter().enumerate().rev() {
        let k = cx.b.iconst(ty, i as u64);
        let here = cx.b.alu(AluOp::IEq, &[index, k]);
        out = cx.b.select(here, v, out);
    }
    Ok(LeafValues::from_slice(&[out]))
}

fn insert_dynamic(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<LeafValues> {
    let mut all = cx.values(inst.id(0)?)?;
    let part = cx.value(inst.id(1)?)?;
    if all.first().is_some_and(|v| cx.b.ty(*v) != cx.b.ty(part)) {
        return Err(inst.malformed("a component of another type"));
    }
    let index = inst.id(2)?;
    if let Some(bits) = cx.const_bits(index)? {
        if let Some(slot) = all.get_mut(bits as usize) {
            *slot = part;
        }
        return Ok(all);
    }
    let index = cx.value(index)?;
    let index = cx.bounded(index, all.len());
    let ty = cx.b.ty(index);
    for (i, slot) in all.iter_mut().enumerate() {
        let k = cx.b.iconst(ty, i as u64);
        let here = cx.b.alu(AluOp::IEq, &[index, k]);
        *slot = cx.b.select(here, part, *slot);
    }
    Ok(all)
}

/// The selected leaves; `None` if the result was a pointer, which has been set.
fn select(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Option<LeafValues>> {
    let cond = cx.values(inst.id(0)?)?;
    if cond.iter().any(|c| cx.b.ty(*c) != Type::B1) {
        return Err(inst.malformed("the condition is not a boolean"));
    }
    let ty: TypeId = cx.result_type(inst)?;
    let no_values = cx.is_known_pointer(ty);
    if no_values || cx.types.is_variable_pointer(ty) {
        let [cond] = *cond.as_slice() else { return Err(inst.malformed("a vector condition for pointers")) };
        let (a, b) = (inst.id(1)?, inst.id(2)?);
        // A pointer that is a value may be null; one that is known in translation cannot.
        let known = [a, b].iter().all(|id| matches!(cx.known(*id), Some(Def::Pointer(_))));
        if known {
            let (a, b) = (cx.pointer(a)?, cx.pointer(b)?);
            if joinable(&a, &b) {
                let (x, y) = (cx.byte_offset(&a, 0), cx.byte_offset(&b, 0));
                let offset = cx.b.select(cond, x, y);
                let pointer = at_offset(cx, &a, offset);
                cx.set_pointer(inst.result()?, pointer);
                return Ok(None);
            }
        }
        if no_values {
            return Err(inst.unsupported("of pointers into different variables"));
        }
    }
    let (a, b) = (cx.values(inst.id(1)?)?, cx.values(inst.id(2)?)?);
    let types = cx.types.leaf_types(ty)?;
    check(cx, &a, &types)?;
    check(cx, &b, &types)?;
    if cond.len() != 1 && cond.len() != a.len() {
        return Err(inst.malformed("a condition of another number of components"));
    }
    if types.iter().any(|t| !t.is_scalar()) {
        return Err(inst.unsupported("of resources"));
    }
    let pairs = a.into_iter().zip(b).enumerate();
    let values = pairs.map(|(i, (x, y))| {
        let c = cond.get(i).or(cond.first()).copied().unwrap_or(x);
        cx.b.select(c, x, y)
    });
    Ok(Some(values.collect()))
}
