//! Changes inputs so that a shader's comparisons give the other result.
//!
//! Random inputs are hardly ever equal to what a shader computes, and are often all on one side of a threshold: results
//! compared with an expected value, planes that clip everything, early exits. So the interpreter records what each
//! comparison compared. If one operand is a number loaded from the inputs, that number is replaced by a value of the
//! other operand. Another comparison may then be reached, so this is repeated.

use super::references::loaded_from;
use dovetail_emu::inputs::{Bound, Inputs};
use dovetail_interp::Compared;
use dovetail_ir::{AluOp, Op, Shader};
use std::collections::BTreeSet;

/// Maximum number of recorded runs per scene.
pub(super) const ROUNDS: usize = 12;
/// Maximum number of instructions of a recorded run: a longer run depends on more than one comparison.
pub(super) const WATCHED: u64 = 300_000;

/// The operations that count as comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    /// Equality and order. A threshold is set to the median of the values compared with it.
    All,
    /// Equality and subtraction: values that may differ a little.
    Equality,
}

/// Changes the inputs after a run with the operands that the shader compared; returns whether anything changed. `round`
/// is the number of the run: thresholds change only in the first, since counters that run up to them change with them.
pub(super) fn meet(ir: &Shader, seen: &Compared, inputs: &mut Inputs, what: Compare, round: usize) -> bool {
    let (mut changed, mut met) = (false, BTreeSet::new());
    for inst in ir.live_insts() {
        let (Op::Alu(op, _), Some(result)) = (&inst.op, inst.result) else { continue };
        let (Some(seen), [left, right]) = (seen.get(&result.index()), &inst.args[..]) else { continue };
        let (equal, difference) = (is_equality(*op), matches!(op, AluOp::FSub | AluOp::ISub));
        let taken = match what {
            Compare::All => equal || op.compares() && round == 0,
            Compare::Equality => equal || difference,
        };
        if !taken {
            continue;
        }
        for (own, other) in [(*left, 1), (*right, 0)] {
            let Some(place) = loaded_from(ir, own) else { continue };
            if !met.insert(place) {
                continue;
            }
            let mut values: Vec<u64> = seen.iter().map(|pair| pair[other]).collect();
            if op.compares() && !equal {
                let float = op.takes_float();
                values.sort_by(|a, b| order(*a, *b, ir.ty(own).bytes(), float));
                values.rotate_left(seen.len() / 2);
            }
            let Some(value) = values.first() else { continue };
            let bytes = ir.ty(own).bytes() as usize;
            changed |= write(inputs, place, &value.to_le_bytes()[..bytes.min(8)]);
            break;
        }
    }
    changed
}

fn is_equality(op: AluOp) -> bool {
    use AluOp as A;
    matches!(op, A::IEq | A::INe | A::FOEq | A::FONe | A::FUEq | A::FUNe)
}

fn order(a: u64, b: u64, bytes: u32, float: bool) -> std::cmp::Ordering {
    match (float, bytes) {
        (true, 4) => f32::from_bits(a as u32).total_cmp(&f32::from_bits(b as u32)),
        (true, 8) => f64::from_bits(a).total_cmp(&f64::from_bits(b)),
        (false, 4) => (a as i32).cmp(&(b as i32)),
        _ => a.cmp(&b),
    }
}

/// Writes a number at a byte offset of the push constants, or of the buffers of a set and binding.
fn write(inputs: &mut Inputs, (place, byte): (Option<(u32, u32)>, usize), value: &[u8]) -> bool {
    let put = |data: &mut Vec<u8>| {
        let to = data.get_mut(byte..).and_then(|rest| rest.get_mut(..value.len())).filter(|to| *to != value);
        to.map(|to| to.copy_from_slice(value)).is_some()
    };
    let Some(place) = place else { return put(&mut inputs.push_constants.0) };
    let here = inputs.bindings.iter_mut().filter(|b| (b.set, b.binding) == place);
    here.fold(false, |changed, binding| match &mut binding.bound {
        Bound::UniformBuffer(data) | Bound::StorageBuffer(data) => put(&mut data.0) || changed,
        _ => changed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::InputBytes;
    use dovetail_interp::{Options, ShadowedMemory, World, dispatch};
    use dovetail_ir::parse::parse;

    /// The shader compares two push constants: one with an invocation id, the other with a constant after that.
    const TWO: &str = "shader upper compute \"t\"\nmodes 4 1 1 any any any any rte rte rte\nblock0:\n\
        v0: b32 = const 0x0\n v1: b32 = push_constant[align4] v0\n v2: b32 = load_builtin[local_invocation_id component0]\n\
        v3: b1 = ult v2, v1\n branch v3, block1, block2\n\
        block1:\n v4: b32 = const 0x4\n v5: b32 = push_constant[align4] v4\n v6: b32 = const 0x2a\n v7: b1 = ine v5, v6\n\
        jump block2\nblock2:\n return\n";

    #[test]
    fn thresholds_go_to_the_middle_and_equal_numbers_become_equal() {
        let ir = parse(TWO).unwrap();
        let mut inputs = Inputs {
            push_constants: InputBytes([99u32, 7].iter().flat_map(|n| n.to_le_bytes()).collect()),
            ..Default::default()
        };
        let mut rounds = 0;
        for round in 0..ROUNDS {
            let memory = ShadowedMemory::new(inputs.push_constants.0.clone());
            let mut world = World { push_constants: memory, compared: Some(Compared::new()), ..Default::default() };
            dispatch(&ir, &mut world, [1; 3], Options::default()).unwrap();
            if !meet(&ir, &world.compared.unwrap_or_default(), &mut inputs, Compare::All, round) {
                break;
            }
            rounds += 1;
        }
        let words: Vec<u32> =
            inputs.push_constants.0.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        assert_eq!((words, rounds), (vec![2, 42], 1));
    }
}
