//! Passes values through scratch memory into blocks where more of them meet than there are registers.
//!
//! The parameters of a block are in registers all at once, which spilling cannot change: it works between instructions.
//! Here those beyond half of a register file are stored in each block before and loaded in the block itself, where the
//! allocator may spill them again. A condition is stored as a word. Edges are split already
//! ([`crate::shape`]), and a variable is read in one block only, so a store on a path that leads
//! elsewhere does no harm.

use crate::allocate::RegisterLimits;
use dovetail_base::workspace::List;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{Align, AluOp, AmdOp, Bits, BlockId, Builder, LaneOp, Local, LocalId, Op, Shader, Type, Value};
use dovetail_opt::names::ValueNames;
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
    let mut names = ValueNames::default();
    for of_block in moved.chunk_by(|a, b| a.block == b.block) {
        load(shader, of_block, &mut names);
    }
    let stays = |block, place| moved.binary_search_by_key(&(block, place), |one| (one.block, one.place)).is_err();
    for block in shader.block_ids() {
        store(shader, block, &moved);
        let of_block = shader.block_mut(block);
        let mut place = 0..;
        of_block.params.retain(|_| place.next().is_some_and(|place| stays(block, place)));
        of_block.end.retain_args(stays);
        shader.place_params(block);
    }
    names.apply(shader);
}

/// Chooses the parameters, in the order of blocks and places.
fn moved(shader: &mut Shader, limits: RegisterLimits) -> List<Moved> {
    let mut out = List::default();
    let mut uniformity: Option<Arc<Uniformity>> = None;
    for block in shader.block_ids().skip(1) {
        let all: u32 = shader.block(block).params.iter().map(|v| dwords(shader.ty(*v))).sum();
        if all <= u32::from(limits.sgprs.min(limits.vgprs)) {
            continue;
        }
        let uniformity = uniformity.get_or_insert_with(|| Uniformity::of(shader));
        let params = shader.block(block).params.iter().map(|v| (shader.ty(*v), uniformity.is_uniform(*v)));
        let params: List<(Type, bool)> = params.collect();
        for (uniform, most) in [(true, limits.sgprs), (false, limits.vgprs)] {
            let of_file = || params.iter().enumerate().filter(move |(_, (_, other))| *other == uniform);
            // Other values live there too: the masks of waiting lanes, at least.
            if of_file().map(|(_, (ty, _))| dwords(*ty)).sum::<u32>() <= u32::from(most) * 7 / 8 {
                continue;
            }
            let mut kept = 0;
            for (place, (ty, _)) in of_file() {
                kept += dwords(*ty);
                if kept > u32::from(most) / 2 && (ty.is_scalar() || ty.bits() != Bits::B1) {
                    let stored = stored(*ty);
                    let (bytes, align) = (stored.bytes(), align(stored));
                    let local = shader.add_local(Local { name: "crowded".into(), bytes, align });
                    out.push(Moved { block, place, local, uniform });
                }
            }
        }
    }
    out.sort_by_key(|one| (one.block, one.place));
    out
}

/// Registers that a value takes; a condition takes one.
fn dwords(ty: Type) -> u32 {
    ty.total_bits().div_ceil(32)
}

/// The type in memory of a value of this type.
fn stored(ty: Type) -> Type {
    if ty == Type::B1 { Type::B32 } else { ty }
}

fn align(ty: Type) -> Align {
    Align::from_bytes(ty.bytes().next_power_of_two().min(16)).unwrap_or(Align::A16)
}

/// Loads the parameters at the start of their block.
fn load(shader: &mut Shader, moved: &[Moved], names: &mut ValueNames) {
    let block = moved[0].block;
    let mut rest = std::mem::take(&mut shader.block_mut(block).insts);
    let mut b = Builder::new(shader, block);
    let start = b.c32(0);
    for one in moved {
        let param = b.shader.block(block).params[one.place];
        let ty = b.ty(param);
        let stored = stored(ty);
        let loaded = b.value(Op::LocalLoad { local: one.local, align: align(stored) }, &[start], stored);
        let value = if one.uniform {
            b.value(Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)), &[loaded], stored)
        } else {
            loaded
        };
        let value = b.convert(AluOp::Trunc, value, ty);
        names.set(param, value);
    }
    shader.block_mut(block).insts.append(&mut rest);
}

/// Stores what a block passes to the parameters.
fn store(shader: &mut Shader, block: BlockId, moved: &[Moved]) {
    let mut passed = List::<(LocalId, Value)>::default();
    for call in shader.block(block).calls() {
        let first = moved.partition_point(|one| one.block < call.block);
        let to = moved[first..].iter().take_while(|one| one.block == call.block);
        passed.extend(to.map(|one| (one.local, call.args[one.place])));
    }
    if passed.is_empty() {
        return;
    }
    let end = std::mem::take(&mut shader.block_mut(block).end);
    let mut b = Builder::new(shader, block);
    let start = b.c32(0);
    for &(local, value) in &passed {
        let ty = stored(b.ty(value));
        let value = b.convert(AluOp::ZExt, value, ty);
        let align = align(ty);
        b.effect(Op::LocalStore { local, align }, &[start, value]);
    }
    shader.block_mut(block).end = end;
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::Gpu;
    use dovetail_ir::parse::parse;
    use dovetail_ir::verify::verify_between;
    use dovetail_isa::Isa;

    #[test]
    fn the_parameters_that_stay_know_their_places() {
        let list =
            |from: usize, what: &str| (0..8).map(|n| format!("v{}{what}", from + n)).collect::<Vec<_>>().join(", ");
        let mut shader = parse(&format!(
            "shader upper compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\n\
             block0:\n  v0: b32 = load_builtin[local_invocation_id component0]\n  v1: b32 = const 0x0\n  \
             jump block1({}, {})\n\
             block1({}, {}): merge block3 continue block2\n  v20: b1 = ult v2, v10\n  branch v20, block2, block3\n\
             block2:\n  jump block1({}, {})\n\
             block3:\n  return\n",
            ["v1"; 8].join(", "),
            ["v0"; 8].join(", "),
            list(2, ": b32"),
            list(10, ": b32"),
            list(2, ""),
            list(10, ""),
        ))
        .expect("a shader");
        run(&mut shader, RegisterLimits { sgprs: 8, ..RegisterLimits::new(Isa::of(Gpu::Gfx1030), 8) });
        assert_eq!(shader.block(BlockId(1)).params.len(), 8, "{shader}");
        verify_between(&shader).unwrap_or_else(|why| panic!("{why}\n{shader}"));
    }
}
