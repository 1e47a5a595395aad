//! Passes values through scratch memory into blocks where more of them meet than there are registers.
//!
//! The parameters of a block are in registers all at once, which spilling cannot change: it works between instructions.
//! Here those beyond half of a register file are stored in each block before and loaded in the block itself, where the
//! allocator may spill them again. Edges are split already ([`crate::compile::native::shape`]), and a variable is read in one block only,
//! so a store on a path that leads elsewhere does no harm.

use super::names::Names;
use crate::compile::native::allocate::RegisterLimits;
use crate::ir::uniform::Uniformity;
use crate::ir::{Align, AmdOp, Bits, BlockId, Builder, InstId, Local, LocalId, Op, Shader, Type, Value};
use crate::workspace::List;
use std::sync::Arc;

/// A parameter that goes through a variable.
struct Moved {
    block: BlockId,
    /// Its place among the block's parameters.
    place: usize,
    local: LocalId,
    uniform: bool,
}

/// Moves parameters of crowded blocks to scratch variables.
pub fn run(shader: &mut Shader, limits: RegisterLimits) {
    let moved = moved(shader, limits);
    if moved.is_empty() {
        return;
    }
    let mut names = Names::default();
    for of_block in moved.chunk_by(|a, b| a.block == b.block) {
        load(shader, of_block, &mut names);
        store(shader, of_block);
    }
    for of_block in moved.chunk_by(|a, b| a.block == b.block) {
        let block = of_block[0].block;
        let keeps = |place: usize| of_block.binary_search_by_key(&place, |one| one.place).is_err();
        let mut place = 0..;
        shader.block_mut(block).params.retain(|_| place.next().is_some_and(keeps));
        for pred in shader.block_ids() {
            shader.block_mut(pred).end.retain_args(|to, place| to != block || keeps(place));
        }
    }
    names.apply(shader);
}

/// Chooses the parameters, block after block and in order.
fn moved(shader: &mut Shader, limits: RegisterLimits) -> List<Moved> {
    let mut out = List::default();
    let mut uniformity: Option<Arc<Uniformity>> = None;
    for block in shader.block_ids().skip(1) {
        let all = shader.block(block).params.iter().map(|v| dwords(shader.ty(*v))).sum::<u32>();
        if all <= u32::from(limits.sgprs.min(limits.vgprs)) {
            continue;
        }
        let uniformity = uniformity.get_or_insert_with(|| Uniformity::of(shader));
        let is_uniform: List<bool> = shader.block(block).params.iter().map(|v| uniformity.is_uniform(*v)).collect();
        for (uniform, most) in [(true, limits.sgprs), (false, limits.vgprs)] {
            let of_file = |place: &usize| is_uniform[*place] == uniform;
            let params = shader.block(block).params.clone();
            let count: u32 = (0..params.len()).filter(of_file).map(|n| dwords(shader.ty(params[n]))).sum();
            // Other values live there too: the masks of waiting lanes, at least.
            if count <= u32::from(most) * 7 / 8 {
                continue;
            }
            let mut kept = 0;
            for place in (0..params.len()).filter(of_file) {
                let ty = shader.ty(params[place]);
                kept += dwords(ty);
                if kept > u32::from(most) / 2 && ty.bits() != Bits::B1 {
                    let local = shader.add_local(Local { name: "crowded".into(), bytes: ty.bytes(), align: align(ty) });
                    out.push(Moved { block, place, local, uniform });
                }
            }
        }
    }
    out.sort_by_key(|one| (one.block, one.place));
    out
}

fn dwords(ty: Type) -> u32 {
    if ty.bits() == Bits::B1 { 1 } else { ty.total_bits().div_ceil(32) }
}

fn align(ty: Type) -> Align {
    Align::from_bytes(ty.bytes().next_power_of_two().min(16)).unwrap_or(Align::A16)
}

/// Loads the parameters at the start of their block.
fn load(shader: &mut Shader, moved: &[Moved], names: &mut Names) {
    let block = moved[0].block;
    let mut rest: Vec<InstId> = std::mem::take(&mut shader.block_mut(block).insts);
    let mut b = Builder::new(shader, block);
    let start = b.c32(0);
    for one in moved {
        let param = b.shader.block(block).params[one.place];
        let ty = b.ty(param);
        let mut value = b.value(Op::LocalLoad { local: one.local, align: align(ty) }, &[start], ty);
        if one.uniform && ty.bits() == Bits::B32 {
            let parts: Vec<Value> = b.split(value).iter().map(|&part| first_lane(&mut b, part)).collect();
            value = b.compose(&parts);
        }
        names.set(param, value);
    }
    shader.block_mut(block).insts.append(&mut rest);
}

fn first_lane(b: &mut Builder<'_>, part: Value) -> Value {
    b.value(Op::Amd(AmdOp::ReadFirstLane), &[part], Type::B32)
}

/// Stores what each block before passes.
fn store(shader: &mut Shader, moved: &[Moved]) {
    let to = moved[0].block;
    for pred in shader.block_ids() {
        let passed: List<Value> = shader
            .block(pred)
            .calls()
            .find(|call| call.block == to)
            .map_or_else(List::default, |call| moved.iter().map(|one| call.args[one.place]).collect());
        if passed.is_empty() {
            continue;
        }
        let end = std::mem::take(&mut shader.block_mut(pred).end);
        let mut b = Builder::new(shader, pred);
        let start = b.c32(0);
        for (one, value) in moved.iter().zip(&passed) {
            let align = align(b.ty(*value));
            b.effect(Op::LocalStore { local: one.local, align }, &[start, *value]);
        }
        shader.block_mut(pred).end = end;
    }
}
