//! What is known of values on their way to an output: the same bits on every path, or none at all.
//!
//! Front ends collect outputs in locals, and modules store whole vectors and blocks of which they wrote a part. So both
//! questions look through locals, vectors and block parameters. What nothing gives bits is not written: an epilog that
//! exported it would read a register that holds whatever was left there.

use crate::ir::{Inst, Op, Shader, Terminator, Value, ValueDef};
use std::collections::BTreeSet;

/// One lane of a value.
type Lane = (Value, u8);

/// The bits of a constant, also of one that was kept in a local: if every store that touches the place puts the same bits
/// there, a load of it has those; what is undefined may be any.
pub(super) fn constant(shader: &Shader, v: Value) -> Option<u64> {
    let Some(Inst { op: Op::LocalLoad { .. }, .. }) = shader.def(v) else { return shader.as_const(v) };
    let mut bits = None;
    for (stored, lane) in stored_at(shader, (v, 0))? {
        if is_undefined(shader, (stored, lane), &mut BTreeSet::new()) {
            continue;
        }
        let stored = match shader.def(stored) {
            Some(Inst { op: Op::Compose, args, .. }) => shader.as_const(*args.get(usize::from(lane))?)?,
            _ => shader.as_const(stored)?,
        };
        if bits.replace(stored).is_some_and(|other| other != stored) {
            return None;
        }
    }
    bits
}

/// The values that are stored to outputs and have no bits.
pub(super) fn undefined_outputs(shader: &Shader) -> BTreeSet<Value> {
    let stores = shader.live_insts().filter(|inst| matches!(inst.op, Op::StoreOutput { .. }));
    let stored = stores.filter_map(|store| store.args.first().copied());
    stored.filter(|&v| is_undefined(shader, (v, 0), &mut BTreeSet::new())).collect()
}

/// Whether nothing gives a lane bits: none was made, or it comes from such by vectors, locals and block parameters.
/// `seen` has those on the way: what depends on itself and nothing else has none either.
fn is_undefined(shader: &Shader, (v, lane): Lane, seen: &mut BTreeSet<Lane>) -> bool {
    if !seen.insert((v, lane)) {
        return true;
    }
    let sources = match shader.def(v) {
        None => passed(shader, (v, lane)),
        Some(inst) => match inst.op {
            Op::Undef => return true,
            Op::Compose => inst.args.get(usize::from(lane)).map(|&part| vec![(part, 0)]),
            Op::Extract(which) => inst.args.first().map(|&whole| vec![(whole, which)]),
            Op::Bitcast => inst.args.first().map(|&from| lanes(shader, from)),
            Op::LocalLoad { .. } => stored_at(shader, (v, lane)),
            _ => None,
        },
    };
    sources.is_some_and(|sources| sources.into_iter().all(|source| is_undefined(shader, source, seen)))
}

fn lanes(shader: &Shader, v: Value) -> Vec<Lane> {
    (0..).take(shader.ty(v).lanes() as usize).map(|lane| (v, lane)).collect()
}

/// What is passed to a block's parameter; none if it comes from outside, as those of the entry do.
fn passed(shader: &Shader, (v, lane): Lane) -> Option<Vec<Lane>> {
    let ValueDef::Param(block, nth) = shader.values.get(v.index())?.def else { return None };
    let calls = shader.blocks.iter().filter_map(|b| b.term.as_ref()).flat_map(Terminator::calls);
    let given = calls.filter(|call| call.block == block).map(|call| Some((*call.args.get(nth as usize)?, lane)));
    given.collect::<Option<Vec<Lane>>>().filter(|_| block != Shader::ENTRY)
}

/// The lanes that stores to a local put where one lane of a load reads; none if not all of them are known.
fn stored_at(shader: &Shader, (load, lane): Lane) -> Option<Vec<Lane>> {
    let Inst { op: Op::LocalLoad { local, .. }, args, .. } = shader.def(load)? else { return None };
    let bytes = u64::from(shader.ty(load).element().bytes());
    let offset = shader.as_const(*args.first()?)? + u64::from(lane) * bytes;
    let mut all = Vec::new();
    for store in shader.live_insts() {
        let &Op::LocalStore { local: other, .. } = &store.op else { continue };
        if other != *local {
            continue;
        }
        let &[at, value] = store.args.as_slice() else { return None };
        let (at, each) = (shader.as_const(at)?, u64::from(shader.ty(value).element().bytes()));
        if offset + bytes <= at || at + u64::from(shader.ty(value).bytes()) <= offset {
            continue;
        }
        if each != bytes || offset < at || !(offset - at).is_multiple_of(each) {
            return None;
        }
        all.push((value, u8::try_from((offset - at) / each).ok()?));
    }
    Some(all)
}
