//! Computes the value of each link-time symbol from the resource layout and the state (pal-abi 1.2).
//!
//! There is one side effect: a symbol that makes the shader read root dwords from memory lowers the spill threshold,
//! the first root dword that PAL has to write to the spill table. To add a symbol, add an arm to [`Values::of`].

use super::fit::Fit;
use super::input::{Object, Patch};
use crate::abi::layout::{DescriptorPlace, ResolvedLayout};
use crate::error::{Error, FullCompile, Result};
use crate::metadata::interface::{ResourceUse, UserData};
use crate::reloc::apply::fits;
use crate::reloc::kind::RelocKind;
use crate::reloc::symbol::LinkSymbol;
use crate::state::PipelineState;
use smallvec::SmallVec;

/// Entries per sample pattern in PAL's table.
const POSITIONS_PER_PATTERN: u32 = 16;

/// The inputs of the values.
pub(super) struct Values<'a> {
    pub state: &'a PipelineState,
    pub layout: &'a ResolvedLayout,
}

/// The value of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub bits: u32,
    /// Root dword that the code reads through the spill table because of this value.
    pub spilled: Option<u32>,
}

impl Value {
    const fn plain(bits: u32) -> Self {
        Self { bits, spilled: None }
    }
}

/// The resolved patches of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Resolved {
    /// In the order of the object's patches, as little-endian bytes.
    pub values: SmallVec<[[u8; 4]; 32]>,
    /// Lowest root dword that the code reads through the spill table.
    pub spilled: Option<u32>,
    /// What the values make superfluous.
    pub fit: Fit,
}

impl Values<'_> {
    /// Checks that an object fits the state, and adds the value of each of its patches to an empty result, which is
    /// expensive to copy.
    ///
    /// # Errors
    /// Malformed: the layout lacks something. Needs a full compile: the object was compiled for another state.
    pub(super) fn resolve(&self, object: &Object, out: &mut Resolved) -> Result<()> {
        self.specialization(object)?;
        self.resources(object)?;
        let mut root_buffers = false;
        for patch in &object.patches {
            // With `at` outside of the match, every value would be copied through memory.
            let value = match self.of(object, &patch.symbol) {
                Ok(value) => value,
                Err(error) => return Err(error.at(format!("symbol `{}` at {:#x}", patch.symbol, patch.offset))),
            };
            self.reachable(object, &patch.symbol, value)?;
            if patch.kind == RelocKind::SmemOffset && !is_near(object, patch, value.bits) {
                return Err(too_far(&patch.symbol, value.bits));
            }
            root_buffers |= value.bits != 0 && matches!(patch.symbol, LinkSymbol::UsesSpill { .. });
            out.values.push(value.bits.to_le_bytes());
            out.spilled = match (out.spilled, value.spilled) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        object.shape.fit(&out.values, root_buffers, &mut out.fit);
        Ok(())
    }

    /// The value of one symbol of an object.
    pub(super) fn of(&self, object: &Object, symbol: &LinkSymbol) -> Result<Value> {
        Ok(match symbol {
            LinkSymbol::DescriptorOffset { set, binding, part } => {
                let place = self.place(*set, *binding)?;
                if place.converts() {
                    let why = "an immutable sampler of it converts from Y'CBCR, which the code has to do";
                    return Err(layout_error(*set, *binding, why.into()));
                }
                let offset = place
                    .part_offset(*part)
                    .ok_or_else(|| layout_error(*set, *binding, format!("a {} has no such descriptor", place.kind)))?;
                Value { bits: offset, spilled: place.in_root.then_some(offset / 4) }
            }
            LinkSymbol::DescriptorStride { set, binding } => Value::plain(self.place(*set, *binding)?.stride),
            LinkSymbol::UsesSpill { set, binding } => {
                let place = self.place(*set, *binding)?;
                Value { bits: place.in_root.into(), spilled: place.in_root.then_some(place.offset / 4) }
            }
            LinkSymbol::RootBuffers => {
                return Err(Error::malformed(format!("{} decides only over {}", symbol, RelocKind::Optional)));
            }
            LinkSymbol::SetPointer(set) => {
                let root = self.layout.set_pointer(*set);
                self.in_root(root.ok_or_else(|| Error::malformed(format!("the layout has no set {set}")))?)
            }
            LinkSymbol::PushConstants => {
                let place = self.layout.push_constants();
                self.in_root(place.ok_or_else(|| Error::malformed("the layout has no push constants"))?.root)
            }
            LinkSymbol::NumSamples => Value::plain(self.samples()?),
            // PAL's table has a pattern for 1, 2, 4, 8 and 16 samples each; shaders index positions, not patterns.
            LinkSymbol::SamplePattern => Value::plain(self.samples()?.ilog2() * POSITIONS_PER_PATTERN),
            LinkSymbol::DeviceIndex => Value::plain(self.state.device_index),
            LinkSymbol::Primitive => Value::plain(self.state.raster.primitive.number()),
            LinkSymbol::SpecConstant { id, dword } => Value::plain(self.spec_operand(object, *id, *dword)?),
            LinkSymbol::Next => return Err(Error::bug("a joint has no value")),
            LinkSymbol::ShadowTable(_) => {
                let what = "FMASK descriptors: multisampled images must be expanded before a shader reads them";
                return Err(Error::unsupported("shadow descriptor table", what));
            }
            LinkSymbol::Opaque(name) => {
                let value = self.state.symbols.get(name);
                Value::plain(*value.ok_or_else(|| Error::malformed(format!("the state gives `{name}` no value")))?)
            }
        })
    }

    fn in_root(&self, dword: u32) -> Value {
        Value { bits: dword.saturating_mul(4), spilled: Some(dword) }
    }

    fn samples(&self) -> Result<u32> {
        match self.state.color.samples {
            0 => Ok(1),
            n @ (1 | 2 | 4 | 8 | 16) => Ok(n),
            n => Err(Error::malformed(format!("{n} samples: 1, 2, 4, 8 or 16"))),
        }
    }

    fn place(&self, set: u32, binding: u32) -> Result<&DescriptorPlace> {
        let found = self.layout.binding(set, binding);
        found.ok_or_else(|| Error::malformed(format!("the layout has no binding {binding} in set {set}")))
    }

    /// Checks that the code can read the spill table: user data must hold its address, and a root buffer must have its
    /// `dusespill` symbol.
    fn reachable(&self, object: &Object, symbol: &LinkSymbol, value: Value) -> Result<()> {
        if value.spilled.is_none() {
            return Ok(());
        }
        let interface = &object.interface;
        if let LinkSymbol::DescriptorOffset { set, binding, .. } = symbol {
            let asks = LinkSymbol::UsesSpill { set: *set, binding: *binding };
            if !object.patches.iter().any(|p| p.symbol == asks) {
                let why = "it is in the root table, and the code reads it from the set's".into();
                return Err(layout_error(*set, *binding, why));
            }
        }
        if !interface.user_data.contains(&UserData::SpillTable) {
            return Err(Error::malformed(format!(
                "`{symbol}` is read through a spill table that the stage does not have"
            )));
        }
        Ok(())
    }

    /// One dword of a constant's value. The value must fit the constant's type, as for a constant that shapes code.
    fn spec_operand(&self, object: &Object, id: u32, dword: u32) -> Result<u32> {
        let operands = &object.interface.spec_operands;
        let found = operands.binary_search_by_key(&id, |operand| operand.id).ok().and_then(|n| operands.get(n));
        let operand = found.ok_or_else(|| Error::malformed("the stage interface has no such constant"))?;
        let value = self.state.specialized(object.stage(), id).unwrap_or(operand.default);
        if operand.bits < 64 && value >> operand.bits != 0 {
            let width = operand.bits;
            return Err(Error::malformed(format!(
                "specialization constant {id} has {width} bits, and the state {value:#x}"
            )));
        }
        Ok((value >> (32 * dword.min(1))) as u32)
    }

    /// Code specialized for other values cannot be used.
    fn specialization(&self, object: &Object) -> Result<()> {
        let other = object.interface.specialization.iter().find(|made_for| {
            let wanted = self.state.specialized(object.stage(), made_for.id).unwrap_or(made_for.default);
            wanted != made_for.value
        });
        match other {
            Some(made_for) => Err(Error::needs_full(FullCompile::Specialization { id: made_for.id })),
            None => Ok(()),
        }
    }

    fn resources(&self, object: &Object) -> Result<()> {
        for used in &object.interface.resources {
            let ResourceUse { set, binding, kind, count } = *used;
            let place = self.place(set, binding)?;
            if !place.kind.serves(kind) {
                return Err(layout_error(
                    set,
                    binding,
                    format!("the shader has a {kind:?}, the layout a {}", place.kind),
                ));
            }
            if count.is_some_and(|n| n > place.count) {
                let n = count.unwrap_or(0);
                return Err(Error::malformed(format!(
                    "set {set} binding {binding}: the shader has {n} descriptors, the layout {}",
                    place.count
                )));
            }
        }
        let bytes = object.interface.push_constant_bytes;
        let there = self.layout.push_constants().map_or(0, |p| p.dwords.saturating_mul(4));
        if bytes > there {
            return Err(Error::malformed(format!(
                "the shader reads {bytes} bytes of push constants, the layout has {there}"
            )));
        }
        Ok(())
    }
}

/// Whether the value fits the offset of a scalar load, with the part's own offset added.
fn is_near(object: &Object, patch: &Patch, value: u32) -> bool {
    let word = object.code.get(patch.offset as usize..).and_then(|rest| rest.first_chunk());
    word.is_some_and(|word| fits(patch.kind, u32::from_le_bytes(*word).into(), value.into()))
}

fn too_far(symbol: &LinkSymbol, value: u32) -> Error {
    match symbol {
        LinkSymbol::DescriptorOffset { set, binding, .. } => {
            layout_error(*set, *binding, format!("byte {value:#x} of its table, scalar loads reach the first MiB"))
        }
        _ => Error::malformed(format!("`{symbol}` is {value:#x}, and scalar loads reach the first MiB")),
    }
}

fn layout_error(set: u32, binding: u32, why: String) -> Error {
    Error::needs_full(FullCompile::ResourceLayout { set, binding, why })
}
