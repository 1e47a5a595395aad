//! Constants and specialization constants: the bits of every leaf, and the specialization values that they depend on.
//!
//! A constant is folded when it is declared, with the specialization values of the request, and becomes IR where it is
//! used. If a value is not known, because the stage is compiled without the pipeline's state, the constant is late: it
//! becomes a relocation, or is computed from such constants at every use. `Modes::spec` records only specialization
//! constants that are used, because only those shape code. A constant lists only its direct operands: with all
//! dependencies, a chain of sums would copy every list.

use super::cx::{Cx, LeafValues};
use super::instruction::SpirvInst;
use super::types::{MAX_LEAVES, MemoryLayout, Ty, TypeId};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::{Align, ConstTable, ConstTableId, SpecOperand, SpecValue, Type};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, Op};

/// Limit of the leaves of all constants together; a module above it is refused.
const MAX_TOTAL: usize = 1 << 22;

/// The bits of null and undefined constants.
static ZEROS: [u64; MAX_LEAVES as usize] = [0; MAX_LEAVES as usize];

/// A range of one of the lists of [`Constants`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    first: u32,
    len: u32,
}

impl Span {
    /// What was added to a list since it had `first` items.
    fn since<T>(first: usize, list: &[T]) -> Self {
        Self { first: first as u32, len: (list.len() - first) as u32 }
    }

    fn of<T>(self, list: &[T]) -> &[T] {
        list.get(self.first as usize..(self.first + self.len) as usize).unwrap_or(&[])
    }
}

/// The leaves of a constant.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConstantLeaves {
    /// The bits of each leaf, in [`Constants::bits`].
    Bits(Span),
    /// All leaves are zero.
    Null,
    /// The leaves may have any value.
    Undef,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Constant {
    pub ty: TypeId,
    pub leaves: ConstantLeaves,
    /// Its own `SpecId`.
    pub spec: Option<u32>,
    /// Operands that depend on some `SpecId`, in [`Constants::parts`].
    parts: Span,
    /// How to compute its value, if that is not known yet; the leaves then have the default values.
    pub late: Option<Late>,
}

/// A constant whose value is not known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Late {
    /// The linker fills it in.
    Relocated(SpecOperand),
    /// This global instruction of the module computes it from other constants.
    Computed(usize),
}

/// The specialization that is known at translation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Specialization<'s> {
    /// Values, sorted by id.
    pub values: &'s [(u32, u64)],
    /// `SpecId`s of the constants that become relocations if they have no value, sorted. They are used only as operands
    /// ([`dovetail_compile::operand_ids`]).
    pub late: &'s [u32],
}

impl Constant {
    /// A constant that depends on no `SpecId`.
    fn known(ty: TypeId, leaves: ConstantLeaves) -> Self {
        Self { ty, leaves, spec: None, parts: Span::default(), late: None }
    }
}

/// The constants of a module.
#[derive(Debug, Default)]
pub struct Constants {
    list: List<Constant>,
    /// Bits of the leaves of all constants.
    bits: List<u64>,
    /// Operands, of all constants, that depend on some `SpecId`.
    parts: List<u32>,
    /// The request's values, sorted by id.
    overrides: List<(u32, u64)>,
    /// Ids of late constants, sorted.
    late: List<u32>,
    /// The late operands that were used, sorted.
    pub(super) operands: List<SpecOperand>,
    /// Each specialization constant, by id.
    values: Kept<FxHashMap<u32, SpecValue>>,
    /// Specialization constants that were used.
    used: List<u32>,
    /// For each constant: whether `used` holds everything that it depends on.
    marked: List<bool>,
    /// Tables made so far, by constant and by digest of the bytes.
    tables: Kept<FxHashMap<u32, ConstTableId>>,
    contents: Kept<FxHashMap<[u8; 32], ConstTableId>>,
}

impl Constants {
    /// Sets the known values, before the first constant is declared.
    pub(super) fn specialize(&mut self, spec: Specialization<'_>) {
        self.overrides.extend_from_slice(spec.values);
        self.late.extend_from_slice(spec.late);
    }

    /// Whether a constant's value is not known.
    pub(super) fn is_late(&self, index: u32) -> bool {
        self.get(index).is_some_and(|c| c.late.is_some())
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// Malformed: too many leaves in total.
    pub(super) fn add(&mut self, constant: Constant) -> Result<u32> {
        if self.bits.len() > MAX_TOTAL {
            return Err(Error::malformed("too many constants"));
        }
        self.list.push(constant);
        self.marked.push(false);
        Ok(self.list.len() as u32 - 1)
    }

    /// The leaves of a constant that is about to be added.
    fn leaves(&mut self, bits: &[u64]) -> ConstantLeaves {
        let first = self.bits.len();
        self.bits.extend_from_slice(bits);
        ConstantLeaves::Bits(Span::since(first, &self.bits))
    }

    /// A constant computed from others, some of which depend on a `SpecId`.
    pub(super) fn computed(&mut self, ty: TypeId, bits: &[u64], parts: &[u32]) -> Constant {
        let leaves = self.leaves(bits);
        let first = self.parts.len();
        self.parts.extend_from_slice(parts);
        Constant { parts: Span::since(first, &self.parts), ..Constant::known(ty, leaves) }
    }

    /// Records the use of a late operand.
    pub(super) fn use_operand(&mut self, operand: SpecOperand) {
        if let Err(at) = self.operands.binary_search(&operand) {
            self.operands.insert(at, operand);
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&Constant> {
        self.list.get(index as usize)
    }

    /// Bits of a scalar constant.
    pub fn scalar(&self, index: u32) -> Option<u64> {
        match &self.get(index)?.leaves {
            ConstantLeaves::Bits(bits) if bits.len == 1 => bits.of(&self.bits).first().copied(),
            ConstantLeaves::Null => Some(0),
            _ => None,
        }
    }

    /// Records that code depends on a constant.
    pub fn mark_used(&mut self, index: u32) {
        if self.marked.get(index as usize) != Some(&false) {
            return;
        }
        let mut todo = smallvec![index];
        self.mark_parts(&mut todo);
    }

    fn mark_parts(&mut self, todo: &mut SmallVec<[u32; 8]>) {
        while let Some(index) = todo.pop() {
            if let (Some(c), Some(marked @ false)) =
                (self.list.get(index as usize), self.marked.get_mut(index as usize))
            {
                *marked = true;
                self.used.extend(c.spec);
                todo.extend(c.parts.of(&self.parts).iter().copied());
            }
        }
    }

    /// Every specialization value used so far, sorted by id.
    pub fn used(&self) -> List<SpecValue> {
        let mut used: List<SpecValue> = self.used.iter().filter_map(|id| self.values.get(id).copied()).collect();
        used.sort_unstable_by_key(|value| value.id);
        used.dedup_by_key(|value| value.id);
        used
    }
}

impl Cx<'_> {
    /// The values of a constant in the current block.
    pub(super) fn constant_values(&mut self, index: u32) -> Result<LeafValues> {
        if let Some(late) = self.constants.get(index).and_then(|c| c.late) {
            return self.late_values(late);
        }
        self.constants.mark_used(index);
        let Some(c) = self.constants.get(index) else { return Err(Error::bug("constant out of range")) };
        let types = self.types.leaf_types(c.ty)?;
        let one = |cx: &mut Self, ty: Type, bits: Option<u64>| match bits {
            Some(bits) if ty.is_scalar() => cx.b.iconst(ty, bits),
            _ => cx.b.undef(ty),
        };
        let bits: SmallVec<[u64; 16]> = match c.leaves {
            ConstantLeaves::Bits(bits) => SmallVec::from_slice(bits.of(&self.constants.bits)),
            ConstantLeaves::Null => SmallVec::from_elem(0, types.len()),
            ConstantLeaves::Undef => return Ok(types.iter().map(|&ty| one(self, ty, None)).collect()),
        };
        Ok(types.iter().zip(bits).map(|(&ty, bits)| one(self, ty, Some(bits))).collect())
    }

    /// Bits of every leaf of a constant (undefined ones zero).
    pub(super) fn constant_bits(&self, index: u32) -> Result<&[u64]> {
        let Some(c) = self.constants.get(index) else { return Err(Error::bug("constant out of range")) };
        Ok(match c.leaves {
            ConstantLeaves::Bits(bits) => bits.of(&self.constants.bits),
            ConstantLeaves::Null | ConstantLeaves::Undef => ZEROS.get(..self.types.leaf_count(c.ty)?).unwrap_or(&[]),
        })
    }

    /// A table with a constant's bytes, tightly packed.
    pub(super) fn constant_table(&mut self, index: u32) -> Result<ConstTableId> {
        self.constants.mark_used(index);
        if let Some(table) = self.constants.tables.get(&index) {
            return Ok(*table);
        }
        let bits = self.constant_bits(index)?;
        let ty = self.constants.get(index).map_or(TypeId(0), |c| c.ty);
        let leaves = self.types.walk(ty, MemoryLayout::PACKED)?;
        let mut bytes = filled(self.types.size(ty, MemoryLayout::PACKED) as usize, 0u8);
        for (leaf, bits) in leaves.iter().zip(bits) {
            let (at, len) = (leaf.offset as usize, leaf.ty.bytes() as usize);
            if let Some(to) = bytes.get_mut(at..at + len) {
                to.copy_from_slice(bits.to_le_bytes().get(..len).unwrap_or(&[]));
            }
        }
        let digest = *blake3::hash(&bytes).as_bytes();
        let tables = &mut self.b.shader.tables;
        let table = *self.constants.contents.entry(digest).or_insert_with(|| {
            tables.push(ConstTable { bytes, align: Align::A16 });
            ConstTableId(tables.len() as u32 - 1)
        });
        self.constants.tables.insert(index, table);
        Ok(table)
    }

    /// Declares the constant of an instruction; `at` is its index among the module's global instructions.
    ///
    /// # Errors
    /// Malformed or unsupported operands.
    pub(super) fn declare_constant(&mut self, at: usize, inst: &SpirvInst<'_>) -> Result<u32> {
        if inst.result_type.is_none() {
            return Err(inst.not_translated());
        }
        let ty = self.result_type(inst)?;
        let mut made = match inst.op() {
            Op::ConstantTrue => self.constants.computed(ty, &[1], &[]),
            Op::ConstantFalse => self.constants.computed(ty, &[0], &[]),
            Op::SpecConstantTrue => self.specialized(inst, ty, 1)?,
            Op::SpecConstantFalse => self.specialized(inst, ty, 0)?,
            Op::Constant => {
                let bits = self.literal_bits(inst, ty)?;
                self.constants.computed(ty, &[bits], &[])
            }
            Op::SpecConstant => {
                let default = self.literal_bits(inst, ty)?;
                self.specialized(inst, ty, default)?
            }
            Op::ConstantNull => Constant::known(ty, ConstantLeaves::Null),
            Op::Undef => Constant::known(ty, ConstantLeaves::Undef),
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(inst, ty)?,
            _ => self.fold(inst, ty)?,
        };
        if let ConstantLeaves::Bits(bits) = &made.leaves
            && bits.len as usize != self.types.leaf_count(ty)?
        {
            return Err(inst.malformed("the constant does not fit its type"));
        }
        if self.any_late(inst) {
            made.late = Some(Late::Computed(at));
        }
        self.constants.add(made)
    }

    fn literal_bits(&self, inst: &SpirvInst<'_>, ty: TypeId) -> Result<u64> {
        let Some(scalar) = self.types.scalar(ty) else { return Err(inst.malformed("a number of no scalar type")) };
        let bits = match inst.operand(0)? {
            rspirv::dr::Operand::LiteralBit32(x) => u64::from(*x),
            rspirv::dr::Operand::LiteralBit64(x) => *x,
            _ => return Err(inst.malformed("no number")),
        };
        Ok(bits & scalar.bits().mask())
    }

    fn specialized(&mut self, inst: &SpirvInst<'_>, ty: TypeId, default: u64) -> Result<Constant> {
        let Some(scalar) = self.types.scalar(ty) else { return Err(inst.malformed("a number of no scalar type")) };
        let Some(id) = self.module.decoration(inst.result()?, Decoration::SpecId) else {
            return Ok(self.constants.computed(ty, &[default], &[]));
        };
        let overrides = &self.constants.overrides;
        let found =
            overrides.binary_search_by_key(&id, |(i, _)| *i).ok().and_then(|n| overrides.get(n)).map(|(_, v)| *v);
        let value = match found {
            // The link compares whole values, so none may have bits that the code does not.
            Some(v) if v & !scalar.bits().mask() != 0 => {
                let width = scalar.bits().count();
                return Err(
                    inst.malformed(format!("specialization constant {id} has {width} bits, and the value {v:#x}"))
                );
            }
            Some(v) => v,
            None if self.constants.late.binary_search(&id).is_ok() => {
                let operand = SpecOperand { id, default, bits: scalar.bits().count() as u8 };
                let late = Some(Late::Relocated(operand));
                return Ok(Constant { late, ..self.constants.computed(ty, &[default], &[]) });
            }
            None => default,
        };
        self.constants.values.entry(id).or_insert(SpecValue { id, value, default });
        Ok(Constant { spec: Some(id), ..self.constants.computed(ty, &[value], &[]) })
    }

    /// The constant that an operand names; it is added to `parts` if it depends on a specialization value.
    pub(super) fn constant_operand(
        &self,
        inst: &SpirvInst<'_>,
        n: usize,
        parts: &mut Vec<u32>,
    ) -> Result<(TypeId, &[u64])> {
        let id = inst.id(n)?;
        let super::cx::Def::Constant(index) = *self.def(id)? else {
            return Err(inst.malformed(format!("%{id} is not a constant")));
        };
        let Some(c) = self.constants.get(index) else { return Err(Error::bug("constant out of range")) };
        if c.spec.is_some() || c.parts.len > 0 {
            parts.push(index);
        }
        Ok((c.ty, self.constant_bits(index)?))
    }

    fn composite(&mut self, inst: &SpirvInst<'_>, ty: TypeId) -> Result<Constant> {
        let (mut parts, mut bits) = (List::default(), List::default());
        let count = match self.types.get(ty) {
            Ty::Struct { members, .. } => self.types.members(*members).len(),
            Ty::Vector { count, .. } | Ty::Matrix { count, .. } => *count as usize,
            Ty::Array { len, .. } => *len as usize,
            _ => return Err(inst.malformed("not a composite type")),
        };
        if count != inst.len() {
            return Err(inst.malformed("wrong number of constituents"));
        }
        let most = self.types.leaf_count(ty)?;
        for n in 0..inst.len() {
            bits.extend_from_slice(self.constant_operand(inst, n, &mut parts)?.1);
            // Checked here, before a list of large parts takes more memory than the type needs.
            if bits.len() > most {
                return Err(inst.malformed("the constant does not fit its type"));
            }
        }
        Ok(self.constants.computed(ty, &bits, &parts))
    }
}
