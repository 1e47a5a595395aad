//! Two values that become the halves of a dword.

use dovetail_ir::{AluOp, BlockId, Op, Shader, Type, Value, ValueDef};

/// How the members of a pair are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By a packed instruction.
    Packed,
    /// By an instruction on 32 bits: logic, signs, a choice by one condition.
    Whole,
    /// By an instruction each, which can read and write either half of a register.
    Apart,
    /// They are parameters of one block, which becomes one parameter.
    Params,
}

impl Kind {
    /// Whether one instruction computes both members.
    pub(super) fn is_joint(self) -> bool {
        matches!(self, Self::Packed | Self::Whole)
    }
}

/// Two values that become the halves of a dword.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The low and the high half.
    pub(super) members: [Value; 2],
    pub(super) kind: Kind,
    /// Block of both.
    pub(super) home: BlockId,
}

/// The kind of pair that the result of 16-bit arithmetic can be in.
pub(super) fn kind(shader: &Shader, v: Value) -> Option<Kind> {
    use AluOp as A;
    let inst = shader.def(v).filter(|_| shader.ty(v) == Type::B16)?;
    let Op::Alu(op, _) = inst.op else { return None };
    match op {
        _ if op.has_packed() => Some(Kind::Packed),
        A::IAnd | A::IOr | A::IXor | A::INot | A::FNeg | A::FAbs | A::Select => Some(Kind::Whole),
        A::FFloor | A::FCeil | A::FTrunc | A::FRoundEven | A::FFract | A::FSqrt | A::FRsq | A::FRcp => {
            Some(Kind::Apart)
        }
        A::FExp2 | A::FLog2 | A::FSinTurn | A::FCosTurn | A::FFrexpMant => Some(Kind::Apart),
        A::FConv if shader.ty(inst.args[0]) == Type::B32 => Some(Kind::Apart),
        _ => None,
    }
}

/// The positions of two parameters.
pub(super) fn places(shader: &Shader, members: [Value; 2]) -> [usize; 2] {
    members.map(|v| match shader.values[v.index()].def {
        ValueDef::Param(_, n) => n as usize,
        ValueDef::Inst(_) => 0,
    })
}
