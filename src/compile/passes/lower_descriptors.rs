//! Descriptors: loads from tables in memory.
//!
//! | layout | table | offset |
//! |---|---|---|
//! | unknown, buffer | spill table or the set's, chosen by `dusespill_S_B` | `doff_S_B_b` + index × `dstride_S_B` |
//! | unknown, otherwise | the set's | `doff_S_B_T` + index × `dstride_S_B` |
//! | known, in the root table | spill table | constant + index × constant |
//! | known, otherwise | the set's | constant + index × constant |
//! | known, an immutable sampler | none: its words are constants, unless the index selects between different samplers |
//!
//! If a set has no SGPR, its pointer is read from the spill table, at `descset_S` or the known root dword. An index
//! that the shader does not declare non-uniform is made scalar, so that the descriptor is scalar too.

use super::address;
use super::context::{PassContext, place_of, resource, set_pointer};
use super::entry_values::Entry;
use super::prelude::Prelude;
use dovetail_abi::layout::ResolvedLayout;
use dovetail_base::error::{Error, Result};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{Align, AluOp, AmdOp, Builder, DescriptorPart, LaneOp, Name, Op, Resource, Shader, Type, Value};
use dovetail_metadata::interface::UserData;
use dovetail_reloc::symbol::{LinkSymbol, PartLetter};

/// Lowers `Descriptor` and `BufferSize`.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let mut prelude = Prelude::default();
    rewrite(shader, |b, inst| match (&inst.op, inst.args.as_slice()) {
        (Op::Descriptor { resource: id, part, non_uniform }, &[index]) => {
            let Resource { set, binding, kind, count, written, .. } = *resource(b.shader, *id)?;
            // The name is not needed, and copying a long one would allocate.
            let r = Resource { name: Name::default(), set, binding, kind, count, written };
            let ty = inst.result.map_or(Type::DESC4, |v| b.ty(v));
            let mut load = Load { b, prelude: &mut prelude, r: &r, part: *part };
            Ok(Rewrite::Value(load.run(cx, index, *non_uniform, ty)?))
        }
        // Dword 2 of a raw buffer's descriptor is its size in bytes.
        (Op::BufferSize, &[desc]) => Ok(Rewrite::Value(b.extract(desc, 2))),
        _ => Ok(Rewrite::Keep),
    })?;
    prelude.place(shader);
    Ok(())
}

/// A value that the linker supplies.
pub(super) fn reloc(b: &mut Builder<'_>, symbol: &LinkSymbol) -> Value {
    let id = b.shader.symbol(symbol);
    b.value(Op::Reloc(id), &[], Type::B32)
}

struct Load<'a, 'b> {
    b: &'a mut Builder<'b>,
    prelude: &'a mut Prelude,
    r: &'a Resource,
    part: DescriptorPart,
}

impl Load<'_, '_> {
    fn run(&mut self, cx: &mut PassContext<'_>, index: Value, non_uniform: bool, ty: Type) -> Result<Value> {
        if let Some(words) = self.immutable(cx, index)? {
            return Ok(words);
        }
        let index = if non_uniform || self.b.shader.as_const(index).is_some() {
            index
        } else {
            self.b.value(Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)), &[index], Type::B32)
        };
        let (table, offset) = match cx.layout.take() {
            None => self.unknown(&cx.entry, index)?,
            Some(layout) => {
                let out = self.known(cx, &layout, index);
                cx.layout = Some(layout);
                out?
            }
        };
        // Tables and their contents are only dword-aligned: a layout may put a descriptor at any dword.
        Ok(address::load(self.b, table, offset, ty, Align::A4))
    }

    /// The words of a sampler that the known layout fixes. A constant index selects it; otherwise all elements must be
    /// equal.
    fn immutable(&mut self, cx: &PassContext<'_>, index: Value) -> Result<Option<Value>> {
        let (DescriptorPart::Sampler, Some(layout)) = (self.part, &cx.layout) else { return Ok(None) };
        let samplers = &place_of(layout, self.r)?.samplers;
        let found = match self.b.shader.as_const(index) {
            Some(n) => usize::try_from(n).ok().and_then(|n| samplers.get(n)),
            None => samplers.first().filter(|first| samplers.iter().all(|other| other.words == first.words)),
        };
        Ok(found.map(|sampler| {
            let words = sampler.words.0.map(|word| self.b.c32(word));
            self.b.compose(&words)
        }))
    }

    fn unknown(&mut self, entry: &Entry, index: Value) -> Result<(Value, Value)> {
        let (set, binding) = (self.r.set, self.r.binding);
        let base = reloc(self.b, &LinkSymbol::DescriptorOffset { set, binding, part: self.letter() });
        let offset = if self.b.shader.as_const(index) == Some(0) {
            base
        } else {
            let stride = reloc(self.b, &LinkSymbol::DescriptorStride { set, binding });
            let scaled = self.b.alu(AluOp::IMul, &[index, stride]);
            self.b.alu(AluOp::IAdd, &[base, scaled])
        };
        if self.part != DescriptorPart::Buffer {
            return Ok((self.set_table(entry, PointerPlace::Reloc(set))?, offset));
        }
        let root = address::table(self.prelude, self.b.shader, entry, UserData::SpillTable)?;
        let own = self.set_table(entry, PointerPlace::Reloc(set))?;
        let flag = reloc(self.b, &LinkSymbol::UsesSpill { set, binding });
        let zero = self.b.c32(0);
        let in_root = self.b.alu(AluOp::INe, &[flag, zero]);
        Ok((self.b.select(in_root, root, own), offset))
    }

    fn known(&mut self, cx: &mut PassContext<'_>, layout: &ResolvedLayout, index: Value) -> Result<(Value, Value)> {
        let place = place_of(layout, self.r)?;
        let start = match self.part.image_number() {
            Some(image) => place.image_offset(image),
            None => place.part_offset(self.letter()),
        };
        let start = start.ok_or_else(|| Error::bug(format!("a {:?} of a {:?}", self.part, self.r.kind)))?;
        let scaled = self.b.imul_const(index, u64::from(place.stride));
        let start = self.b.c32(start);
        let offset = self.b.iadd(scaled, start);
        if place.in_root {
            cx.spilled_from(place.offset / 4);
            return Ok((address::table(self.prelude, self.b.shader, &cx.entry, UserData::SpillTable)?, offset));
        }
        let root = set_pointer(layout, self.r.set)?;
        if cx.entry.find_user(UserData::DescriptorSet(self.r.set)).is_none() {
            cx.spilled_from(root);
        }
        Ok((self.set_table(&cx.entry, PointerPlace::Known(root.saturating_mul(4)))?, offset))
    }

    fn letter(&self) -> PartLetter {
        match self.part {
            DescriptorPart::Buffer => PartLetter::Buffer,
            DescriptorPart::Image | DescriptorPart::Image1 | DescriptorPart::Image2 => PartLetter::Image,
            DescriptorPart::Sampler => PartLetter::Sampler,
            DescriptorPart::TexelBuffer => PartLetter::TexelBuffer,
        }
    }

    /// Address of the set's table.
    fn set_table(&mut self, entry: &Entry, place: PointerPlace) -> Result<Value> {
        let which = UserData::DescriptorSet(self.r.set);
        if entry.find_user(which).is_some() {
            return address::table(self.prelude, self.b.shader, entry, which);
        }
        let low = self.set_low(entry, place)?;
        Ok(address::widen(self.prelude, self.b, low))
    }

    /// Low half of the table's address, from its SGPR or from the spill table.
    fn set_low(&mut self, entry: &Entry, place: PointerPlace) -> Result<Value> {
        if let Some(v) = entry.find_user(UserData::DescriptorSet(self.r.set)) {
            return Ok(v);
        }
        let spill = address::table(self.prelude, self.b.shader, entry, UserData::SpillTable)?;
        let offset = match place {
            PointerPlace::Reloc(set) => reloc(self.b, &LinkSymbol::SetPointer(set)),
            PointerPlace::Known(bytes) => self.b.c32(bytes),
        };
        Ok(address::load(self.b, spill, offset, Type::B32, Align::A4))
    }
}

/// Location of a set's pointer in the root table.
enum PointerPlace {
    Reloc(u32),
    Known(u32),
}
