//! Values from the dwords of a merged load, and the dwords of a merged store from values.

use dovetail_ir::{Bits, Op, Shader, Type, Value};
use smallvec::SmallVec;

type Values = SmallVec<[Value; 16]>;

/// A value of a type, at this byte of consecutive dwords. `make` adds an instruction with a result.
pub(super) fn taken_from(
    shader: &mut Shader,
    dwords: &[Value],
    at: u32,
    ty: Type,
    make: &mut impl FnMut(&mut Shader, Op, &[Value], Type) -> Option<Value>,
) -> Option<Value> {
    let element = ty.element();
    let mut lanes = Values::new();
    for lane in 0..ty.lanes() {
        let byte = at + lane * element.bytes();
        let (dword, inside) = ((byte / 4) as usize, byte % 4);
        lanes.push(match ty.bits() {
            Bits::B32 => *dwords.get(dword)?,
            Bits::B64 => {
                let both = make(shader, Op::Compose, dwords.get(dword..dword + 2)?, Type::vector(Bits::B32, 2)?)?;
                make(shader, Op::Bitcast, &[both], element)?
            }
            bits => {
                let parts = make(shader, Op::Bitcast, &[*dwords.get(dword)?], Type::vector(bits, 4 / bits.bytes())?)?;
                make(shader, Op::Extract((inside / bits.bytes()) as u8), &[parts], element)?
            }
        });
    }
    match lanes[..] {
        [one] => Some(one),
        _ => make(shader, Op::Compose, &lanes, ty),
    }
}

/// The dwords of values of the same element type, one after the other in memory.
pub(super) fn dwords_of(
    shader: &mut Shader,
    values: &[Value],
    make: &mut impl FnMut(&mut Shader, Op, &[Value], Type) -> Option<Value>,
) -> Option<Values> {
    let mut lanes = Values::new();
    for &value in values {
        let ty = shader.ty(value);
        for lane in 0..ty.lanes() {
            let is_vector = !ty.is_scalar();
            lanes.push(if is_vector { make(shader, Op::Extract(lane as u8), &[value], ty.element())? } else { value });
        }
    }
    let bits = shader.ty(*values.first()?).bits();
    let mut dwords = Values::new();
    match bits {
        Bits::B32 => return Some(lanes),
        Bits::B64 => {
            for lane in lanes {
                let both = make(shader, Op::Bitcast, &[lane], Type::vector(Bits::B32, 2)?)?;
                for half in 0..2 {
                    dwords.push(make(shader, Op::Extract(half), &[both], Type::B32)?);
                }
            }
        }
        _ => {
            let parts = 4 / bits.bytes();
            for of_dword in lanes.chunks(parts as usize) {
                let packed = make(shader, Op::Compose, of_dword, Type::vector(bits, parts)?)?;
                dwords.push(make(shader, Op::Bitcast, &[packed], Type::B32)?);
            }
        }
    }
    Some(dwords)
}
