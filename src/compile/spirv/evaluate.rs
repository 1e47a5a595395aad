//! Evaluates straight-line IR on numbers, to test library code: one block, scalars and small vectors, no memory.
//!
//! The arithmetic is the interpreter's, which is exact to the last digit, so a test sees the error of a formula and its
//! steps, not that of an instruction.

use dovetail_base::target::Stage;
use dovetail_ir::number::{float, integer};
use dovetail_ir::{AluOp, Bits, Builder, Op, Shader, Type, Value};

/// Builds a block from constants of these types and bits, evaluates it, and returns the bits of its results.
pub fn run<V: AsRef<[Value]>>(args: &[(Type, u64)], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> V) -> Vec<u64> {
    let mut shader = Shader::new("test", Stage::Compute);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    // Parameters, because constants could be folded.
    let params: Vec<Value> = args.iter().map(|&(ty, _)| b.shader.add_param(Shader::ENTRY, ty)).collect();
    let results = f(&mut b, &params);
    let mut bits: Vec<Vec<u64>> = vec![Vec::new(); shader.values.len()];
    for (param, &(_, x)) in params.iter().zip(args) {
        bits[param.index()] = vec![x];
    }
    for &id in &shader.block(Shader::ENTRY).insts {
        let inst = shader.inst(id);
        let result = inst.result.expect("a pure instruction");
        let args: Vec<&[u64]> = inst.args.iter().map(|a| bits[a.index()].as_slice()).collect();
        let source = inst.args.first().map_or(shader.ty(result), |&a| shader.ty(a));
        bits[result.index()] = match &inst.op {
            Op::Const(c) => vec![*c],
            Op::Compose => args.concat(),
            Op::Extract(lane) => vec![args[0][usize::from(*lane)]],
            Op::Bitcast => recut(args[0], source.bits(), shader.ty(result)),
            Op::Alu(op, _) => {
                let args: Vec<u64> = args.iter().map(|a| a[0]).collect();
                vec![alu(*op, &args, source.bits(), shader.ty(result).bits())]
            }
            other => panic!("not evaluated: {other:?}"),
        };
    }
    results.as_ref().iter().map(|r| bits[r.index()][0]).collect()
}

/// [`run`] on f32 values.
pub fn run_f32<V: AsRef<[Value]>>(args: &[f32], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> V) -> Vec<f32> {
    let args: Vec<(Type, u64)> = args.iter().map(|x| (Type::B32, u64::from(x.to_bits()))).collect();
    run(&args, f).into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

fn recut(lanes: &[u64], from: Bits, to: Type) -> Vec<u64> {
    let mut whole = 0u128;
    for (i, lane) in lanes.iter().enumerate() {
        whole |= u128::from(*lane) << (i as u32 * from.count());
    }
    (0..to.lanes()).map(|i| (whole >> (i * to.bits().count())) as u64 & to.bits().mask()).collect()
}

fn alu(op: AluOp, args: &[u64], from: Bits, to: Bits) -> u64 {
    let mut three = [0; 3];
    three[..args.len()].copy_from_slice(args);
    let result = if op.takes_float() { float(op, three, from, to) } else { integer(op, three, from, to) };
    result.unwrap_or_else(|| panic!("not evaluated: {}", op.name()))
}
