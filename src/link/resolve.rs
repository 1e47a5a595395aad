//! Computes the values that the state gives to link-time symbols (pal-abi 1.2); [`super::bound`] computes those that
//! the layout gives. To add a symbol of the state, add an arm to [`StateValues::of`].

use super::bound::{is_near, too_far};
use super::input::Object;
use super::ready::Ready;
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;
use dovetail_state::PipelineState;
use smallvec::SmallVec;

/// Entries per sample pattern in PAL's table.
const POSITIONS_PER_PATTERN: u32 = 16;

/// The values of a part's late patches in their order, as little-endian bytes.
pub(super) type Resolved = SmallVec<[[u8; 4]; 32]>;

/// The state, as the source of values.
pub(super) struct StateValues<'a>(pub &'a PipelineState);

impl StateValues<'_> {
    /// Adds the value of each late patch of an object to an empty list.
    ///
    /// # Errors
    /// Malformed: the state lacks something.
    pub(super) fn resolve(&self, object: &Object, ready: &Ready, out: &mut Resolved) -> Result<()> {
        for patch in &ready.late {
            let value = self.of(object, &patch.symbol);
            let value = value.map_err(|error| error.at(format!("symbol `{}` at {:#x}", patch.symbol, patch.offset)))?;
            if patch.kind == RelocKind::SmemOffset && !is_near(object, ready.code(), patch.offset, value) {
                return Err(too_far(&patch.symbol, value));
            }
            out.push(value.to_le_bytes());
        }
        Ok(())
    }

    /// The value of one symbol of an object.
    fn of(&self, object: &Object, symbol: &LinkSymbol) -> Result<u32> {
        match symbol {
            LinkSymbol::NumSamples => self.0.color.sample_count(),
            // PAL's table has a pattern for 1, 2, 4, 8 and 16 samples each; shaders index positions, not patterns.
            LinkSymbol::SamplePattern => Ok(self.0.color.sample_count()?.ilog2() * POSITIONS_PER_PATTERN),
            LinkSymbol::DeviceIndex => Ok(self.0.device_index),
            LinkSymbol::Primitive => Ok(self.0.raster.primitive.number()),
            LinkSymbol::SpecConstant { id, dword } => self.spec_operand(object, *id, *dword),
            LinkSymbol::Opaque(name) => {
                let value = self.0.symbols.get(name);
                value.copied().ok_or_else(|| Error::malformed(format!("the state gives `{name}` no value")))
            }
            _ => Err(Error::bug(format!("`{symbol}` has no value in the state"))),
        }
    }

    /// One dword of a constant's value. The value must fit the constant's type, as for a constant that shapes code.
    fn spec_operand(&self, object: &Object, id: u32, dword: u32) -> Result<u32> {
        let operands = &object.interface.spec_operands;
        let found = operands.binary_search_by_key(&id, |operand| operand.id).ok().and_then(|n| operands.get(n));
        let operand = found.ok_or_else(|| Error::malformed("the stage interface has no such constant"))?;
        let value = self.0.specialized(object.stage(), id).unwrap_or(operand.default);
        if operand.bits < 64 && value >> operand.bits != 0 {
            let width = operand.bits;
            return Err(Error::malformed(format!(
                "specialization constant {id} has {width} bits, and the state {value:#x}"
            )));
        }
        Ok((value >> (32 * dword.min(1))) as u32)
    }

    /// Checks that the state has the values that an object was specialized for. This check comes before that of the
    /// layout, because such values may decide what the object asks of it.
    ///
    /// # Errors
    /// Needs a full compile: it has other values.
    pub(super) fn specialization(&self, object: &Object) -> Result<()> {
        let other = object.interface.specialization.iter().find(|made_for| {
            let wanted = self.0.specialized(object.stage(), made_for.id).unwrap_or(made_for.default);
            wanted != made_for.value
        });
        match other {
            Some(made_for) => Err(Error::needs_full(FullCompile::Specialization { id: made_for.id })),
            None => Ok(()),
        }
    }
}
