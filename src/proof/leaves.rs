//! Lists the scalars of a type with a layout: offset, width, and matrix element of each.

use super::declared::Declared;
use dovetail_ir::Bits;
use rspirv::spirv::Op;

/// A scalar in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Byte offset.
    pub at: usize,
    /// Width in bits.
    pub bits: Bits,
    /// Whether it is a float.
    pub float: bool,
    /// Column and row, if it is part of a matrix.
    pub element: Option<[u32; 2]>,
    /// Pointee type, if it is an address.
    pub pointee: Option<u32>,
}

/// Layout context of a type: a matrix gets its stride from the structure around it.
#[derive(Clone, Copy, Default)]
struct TypeOffset {
    at: usize,
    stride: Option<usize>,
    rows: bool,
}

impl Declared {
    /// The scalars of a type within the first `bytes` bytes, in declaration order.
    pub(super) fn leaves(&self, ty: u32, bytes: usize) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.walk(ty, TypeOffset::default(), bytes, &mut out);
        out
    }

    /// Size of a type in bytes, at most `limit`; an array without a length extends to the limit.
    pub(super) fn bytes(&self, ty: u32, limit: usize) -> usize {
        self.end(ty, TypeOffset::default()).min(limit)
    }

    /// End of the last scalar of a type that begins at 0.
    fn end(&self, ty: u32, TypeOffset { stride, rows, .. }: TypeOffset) -> usize {
        let (inner, count) = (self.operand(ty, 0), self.operand(ty, 1));
        let place = TypeOffset { at: 0, stride, rows };
        match self.opcode(ty) {
            Op::TypeFloat | Op::TypeInt => Bits::from_count(inner).unwrap_or(Bits::B32).bytes() as usize,
            Op::TypePointer => 8,
            Op::TypeVector => count as usize * self.end(inner, place),
            Op::TypeMatrix => {
                let (column, height) = (self.end(inner, place), self.operand(inner, 1));
                let scalar = column / height.max(1) as usize;
                let (far, near) = if rows { (height, count) } else { (count, height) };
                (far.max(1) - 1) as usize * stride.unwrap_or(column) + near as usize * scalar
            }
            Op::TypeArray => {
                let last = (self.operand(count, 0) as usize).max(1) - 1;
                last.saturating_mul(self.stride(ty).unwrap_or(0)).saturating_add(self.end(inner, place))
            }
            Op::TypeRuntimeArray => usize::MAX,
            Op::TypeStruct => {
                let member = |n: u32| {
                    let (stride, rows) = self.matrix_layout(ty, n);
                    let at = self.offset(ty, n).unwrap_or(0);
                    at.saturating_add(self.end(self.operand(ty, n as usize), TypeOffset { at: 0, stride, rows }))
                };
                (0..self.operands(ty) as u32).map(member).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn walk(&self, ty: u32, place: TypeOffset, bytes: usize, out: &mut Vec<Leaf>) {
        let TypeOffset { at, stride, rows } = place;
        if at >= bytes {
            return;
        }
        let (inner, count) = (self.operand(ty, 0), self.operand(ty, 1));
        match self.opcode(ty) {
            Op::TypeFloat | Op::TypeInt => {
                let bits = Bits::from_count(inner).unwrap_or(Bits::B32);
                if at + bits.bytes() as usize <= bytes {
                    // A bfloat16 is just bits here.
                    let float = self.opcode(ty) == Op::TypeFloat && !self.is_bfloat(ty);
                    out.push(Leaf { at, bits, float, element: None, pointee: None });
                }
            }
            Op::TypePointer if at + 8 <= bytes => {
                out.push(Leaf { at, bits: Bits::B64, float: false, element: None, pointee: Some(count) });
            }
            Op::TypeVector => {
                let size = self.operand(inner, 0) as usize / 8;
                for n in 0..count as usize {
                    self.walk(inner, TypeOffset { at: at + n * size, ..place }, bytes, out);
                }
            }
            Op::TypeMatrix => {
                let (scalar, height) = (self.operand(inner, 0), self.operand(inner, 1));
                let size = self.operand(scalar, 0) as usize / 8;
                let stride = stride.unwrap_or(size * height as usize);
                for (column, row) in (0..count).flat_map(|c| (0..height).map(move |r| (c, r))) {
                    let (far, near) = if rows { (row, column) } else { (column, row) };
                    let at = at + far as usize * stride + near as usize * size;
                    let from = out.len();
                    self.walk(scalar, TypeOffset { at, ..place }, bytes, out);
                    out.iter_mut().skip(from).for_each(|leaf| leaf.element = Some([column, row]));
                }
            }
            Op::TypeArray | Op::TypeRuntimeArray => {
                let step = self.stride(ty).unwrap_or(bytes).max(1);
                let fixed = self.opcode(ty) == Op::TypeArray;
                let length = if fixed { self.operand(count, 0) as usize } else { usize::MAX };
                let first = out.len();
                if length > 0 {
                    self.walk(inner, place, bytes, out);
                }
                // The other elements have the same scalars, so the declarations are read once.
                let element = first..out.len();
                for further in (0..bytes - at).step_by(step).take(length).skip(1) {
                    out.extend_from_within(element.clone());
                    let from = out.len() - element.len();
                    out[from..].iter_mut().for_each(|leaf| leaf.at += further);
                }
                out.retain(|leaf| leaf.at + leaf.bits.bytes() as usize <= bytes);
            }
            Op::TypeStruct => {
                for n in 0..self.operands(ty) as u32 {
                    let at = at + self.offset(ty, n).unwrap_or(0);
                    let (stride, rows) = self.matrix_layout(ty, n);
                    self.walk(self.operand(ty, n as usize), TypeOffset { at, stride, rows }, bytes, out);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rspirv::binary::Assemble;
    use rspirv::dr::{Builder, Operand};
    use rspirv::spirv::Decoration;

    #[test]
    fn scalars_lie_where_decorations_say() {
        let mut b = Builder::new();
        let float = b.type_float(32, None);
        let int = b.type_int(32, 1);
        let two = b.constant_bit32(int, 2);
        let pair = b.type_vector(float, 2);
        let matrix = b.type_matrix(pair, 3);
        let array = b.type_array(int, two);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
        let block = b.type_struct([matrix, pair, array]);
        for (member, offset) in [(0, 0), (1, 32), (2, 48)] {
            b.member_decorate(block, member, Decoration::Offset, [Operand::LiteralBit32(offset)]);
        }
        b.member_decorate(block, 0, Decoration::RowMajor, []);
        b.member_decorate(block, 0, Decoration::MatrixStride, [Operand::LiteralBit32(16)]);
        let words = b.module().assemble();
        let declared = Declared::new(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        let leaves = declared.leaves(block, 1 << 10);
        let places: Vec<(usize, Option<[u32; 2]>)> = leaves.iter().map(|leaf| (leaf.at, leaf.element)).collect();
        let of = |at, column, row| (at, Some([column, row]));
        let matrix = [of(0, 0, 0), of(16, 0, 1), of(4, 1, 0), of(20, 1, 1), of(8, 2, 0), of(24, 2, 1)];
        assert_eq!(places[..6], matrix);
        assert_eq!(places[6..], [(32, None), (36, None), (48, None), (64, None)]);
        assert_eq!((declared.bytes(block, 1 << 10), leaves[9].float), (68, false));
        assert_eq!(declared.leaves(block, 40).len(), 8);
    }

    #[test]
    fn elements_have_equal_scalars_as_far_as_there_is_room() {
        let mut b = Builder::new();
        let int = b.type_int(32, 1);
        let two = b.constant_bit32(int, 2);
        let pair = b.type_array(int, two);
        let element = b.type_struct([int, pair]);
        let all = b.type_runtime_array(element);
        let block = b.type_struct([int, all]);
        for (array, stride) in [(pair, 8), (all, 24)] {
            b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(stride)]);
        }
        for (structure, member, offset) in [(element, 0, 0), (element, 1, 8), (block, 0, 0), (block, 1, 4)] {
            b.member_decorate(structure, member, Decoration::Offset, [Operand::LiteralBit32(offset)]);
        }
        let words = b.module().assemble();
        let declared = Declared::new(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        let offsets = |bytes| declared.leaves(block, bytes).iter().map(|leaf| leaf.at).collect::<Vec<_>>();
        assert_eq!(offsets(64), [0, 4, 12, 20, 28, 36, 44, 52, 60]);
        assert_eq!(offsets(63), [0, 4, 12, 20, 28, 36, 44, 52]);
        assert_eq!(offsets(14), [0, 4]);
    }
}
