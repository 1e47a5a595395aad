//! Keeps values in scratch variables while control flow is changed; promotion turns them into values again.

use dovetail_base::workspace::{Kept, List};
use dovetail_ir::{Align, AluOp, BlockId, FpFlags, InstArgs, InstId, Local, LocalId, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;

/// A use of a value in a block, to be replaced by a load.
pub(super) type Use = (BlockId, Value);

/// Stores each used value where it is defined, and loads it at the start of the blocks that use it. `uses` is sorted by
/// block.
pub(super) fn run(shader: &mut Shader, uses: &[Use]) {
    let (zero, offset) = make(shader, Op::Const(0), &[], Some(Type::B32));
    shader.block_mut(Shader::ENTRY).insts.insert(0, zero);
    let mut locals = Kept::<FxHashMap<Value, LocalId>>::default();
    for &(_, v) in uses {
        locals.entry(v).or_insert_with(|| {
            let bytes = shader.ty(v).bytes();
            shader.add_local(Local { name: "carried".into(), bytes, align: Align::A16 })
        });
    }
    for of_block in uses.chunk_by(|a, b| a.0 == b.0) {
        replace(shader, of_block, &locals, offset);
    }
    let (mut old, mut new) = (List::<InstId>::default(), List::<InstId>::default());
    for block in shader.block_ids() {
        old.clear();
        new.clear();
        old.append(&mut shader.block_mut(block).insts);
        for n in 0..shader.block(block).params.len() {
            let v = shader.block(block).params[n];
            store(shader, v, &locals, offset, &mut new);
        }
        for &id in &old {
            new.push(id);
            if let Some(v) = shader.inst(id).result {
                store(shader, v, &locals, offset, &mut new);
            }
        }
        shader.block_mut(block).insts.append(&mut new);
    }
}

/// A new instruction that is in no block yet, and its result.
fn make(shader: &mut Shader, op: Op, args: &[Value], ty: Option<Type>) -> (InstId, Value) {
    let v = Value(shader.values.len() as u32);
    (shader.add_inst(op, InstArgs::from_slice(args), ty), v)
}

/// Stores a value that has a variable. A boolean has no memory form, so it is stored as 0 or 1.
fn store(shader: &mut Shader, v: Value, locals: &FxHashMap<Value, LocalId>, offset: Value, out: &mut Vec<InstId>) {
    let Some(&local) = locals.get(&v) else { return };
    let mut stored = v;
    if shader.ty(v) == Type::B1 {
        let (id, wide) = make(shader, Op::Alu(AluOp::ZExt, FpFlags::NONE), &[v], Some(Type::B32));
        out.push(id);
        stored = wide;
    }
    out.push(make(shader, Op::LocalStore { local, align: Align::A16 }, &[offset, stored], None).0);
}

/// Replaces the uses in one block.
fn replace(shader: &mut Shader, uses: &[Use], locals: &FxHashMap<Value, LocalId>, offset: Value) {
    let mut new = Kept::<FxHashMap<Value, Value>>::default();
    let mut out = List::<InstId>::default();
    let Some(&(block, _)) = uses.first() else { return };
    for (_, v) in uses {
        let Some(&local) = locals.get(v) else { continue };
        let (ty, op) = (shader.ty(*v), Op::LocalLoad { local, align: Align::A16 });
        let (id, mut loaded) = make(shader, op, &[offset], Some(if ty == Type::B1 { Type::B32 } else { ty }));
        out.push(id);
        if ty == Type::B1 {
            let (id, truth) = make(shader, Op::Alu(AluOp::INe, FpFlags::NONE), &[loaded, offset], Some(Type::B1));
            out.push(id);
            loaded = truth;
        }
        new.insert(*v, loaded);
    }
    let rename = |v: &mut Value| *v = new.get(v).copied().unwrap_or(*v);
    let Shader { blocks, insts, .. } = shader;
    let place = &mut blocks[block.index()];
    place.insts.iter().for_each(|id| insts[id.index()].args.iter_mut().for_each(rename));
    place.end.values_mut().iter_mut().for_each(rename);
    place.insts.splice(0..0, out.drain(..));
}
