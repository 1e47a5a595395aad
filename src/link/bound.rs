//! Binds a part to a resource layout: writes the layout's values into the code, and removes the instructions that they
//! make superfluous. Values that only the state decides are left to [`super::resolve`].
//!
//! There is one side effect: a symbol that makes the shader read root dwords from memory lowers the spill threshold,
//! the first root dword that PAL has to write to the spill table. To add a symbol of the layout, add an arm to
//! [`LayoutValues::of`].

use super::fit::Fit;
use super::functions::{Call, FunctionId};
use super::input::Object;
use super::places::{LoadReloc, Patch, Patched};
use super::user_data::{self, Numbers};
use dovetail_abi::layout::{DescriptorPlace, ResolvedLayout};
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_metadata::interface::{ResourceUse, UserData};
use dovetail_reloc::apply::{apply, fits};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;
use smallvec::SmallVec;

/// A part whose layout is known.
pub(super) struct Bound {
    /// The body's code with the layout's values, without what they make superfluous.
    pub code: Vec<u8>,
    /// Places in it that need a value of the state, in order of their offsets. Those in removed instructions are left out.
    pub late: Vec<Patch>,
    /// The part's relocations for the loader, with offsets in this code.
    pub loads: Vec<LoadReloc>,
    /// Its calls, with offsets in this code.
    pub calls: Vec<Call>,
    /// PAL's numbers for its user data.
    pub numbers: Numbers,
    /// Lowest root dword that the code reads through the spill table.
    pub spilled: Option<u32>,
}

/// The value of a symbol.
#[derive(Clone, Copy)]
struct Value {
    bits: u32,
    /// Root dword that the code reads through the spill table because of this value.
    spilled: Option<u32>,
}

impl Value {
    const fn plain(bits: u32) -> Self {
        Self { bits, spilled: None }
    }
}

/// The layout, as the source of values.
struct LayoutValues<'a>(&'a ResolvedLayout);

impl Bound {
    /// Checks that an object fits the layout, and gives its symbols the layout's values.
    ///
    /// # Errors
    /// Malformed: the layout lacks something. Needs a full compile: these parts cannot reach what it has.
    pub(super) fn new(object: &Object, layout: &ResolvedLayout) -> Result<Self> {
        let source = LayoutValues(layout);
        source.resources(object)?;
        let mut values: SmallVec<[Option<u32>; 32]> = SmallVec::new();
        let (mut root_buffers, mut spilled) = (false, None);
        for patch in &object.patches {
            let at = || format!("symbol `{}` at {:#x}", patch.symbol, patch.offset);
            let Some(value) = source.of(&patch.symbol).at(at)? else {
                values.push(None);
                continue;
            };
            reachable(object, &patch.symbol, value)?;
            if patch.kind == RelocKind::SmemOffset && !is_near(object, &object.code, patch.offset, value.bits) {
                return Err(too_far(&patch.symbol, value.bits));
            }
            root_buffers |= value.bits != 0 && matches!(patch.symbol, LinkSymbol::UsesSpill { .. });
            values.push(Some(value.bits));
            spilled = spilled.into_iter().chain(value.spilled).min();
        }
        let mut numbers = Numbers::new();
        user_data::map(&object.interface, layout, &mut numbers)?;
        let mut fit = Fit::default();
        object.shape.fit(&values, root_buffers, &mut fit);
        let mut code = fit.copy(&object.shape, &object.code)?;
        let (mut walk, mut late) = (fit.walk(), Vec::new());
        for (patch, value) in object.patches.iter().zip(&values) {
            let Some(offset) = walk.moved(patch.offset) else { continue };
            match *value {
                Some(value) => apply(&object.isa().words, &mut code, offset, patch.kind, value.into(), 0)
                    .at(|| format!("`{}`, symbol `{}`", object.interface.body_symbol(), patch.symbol))?,
                None if code.len() < offset.saturating_add(patch.kind.bytes()) as usize => {
                    return Err(Error::malformed(format!(
                        "symbol `{}` is outside of the code that is left",
                        patch.symbol
                    )));
                }
                None => late.push(Patch { offset, ..patch.clone() }),
            }
        }
        let moved = |load: &LoadReloc| {
            let offset = if load.patched == Patched::Code { fit.moved(load.offset) } else { Some(load.offset) };
            let offset = offset.ok_or_else(|| Error::bug("an address in code that was removed"))?;
            Ok(LoadReloc { offset, ..load.clone() })
        };
        let loads = object.loads.iter().map(moved).collect::<Result<_>>()?;
        let moved = |call: &Call| {
            let offset = if call.from == FunctionId::BODY { fit.moved(call.offset) } else { Some(call.offset) };
            Ok(Call { offset: offset.ok_or_else(|| Error::bug("a call in code that was removed"))?, ..*call })
        };
        let calls = object.calls.iter().map(moved).collect::<Result<_>>()?;
        Ok(Self { code, late, loads, calls, numbers, spilled })
    }
}

impl LayoutValues<'_> {
    /// The value of a symbol; `None`: the state has it.
    fn of(&self, symbol: &LinkSymbol) -> Result<Option<Value>> {
        Ok(Some(match symbol {
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
                let root = self.0.set_pointer(*set);
                self.in_root(root.ok_or_else(|| Error::malformed(format!("the layout has no set {set}")))?)
            }
            LinkSymbol::PushConstants => {
                let place = self.0.push_constants();
                self.in_root(place.ok_or_else(|| Error::malformed("the layout has no push constants"))?.root)
            }
            LinkSymbol::NumSamples
            | LinkSymbol::SamplePattern
            | LinkSymbol::DeviceIndex
            | LinkSymbol::Primitive
            | LinkSymbol::SpecConstant { .. }
            | LinkSymbol::Opaque(_) => return Ok(None),
            LinkSymbol::Next => return Err(Error::bug("a joint has no value")),
            LinkSymbol::ShadowTable(_) => {
                let what = "FMASK descriptors: multisampled images must be expanded before a shader reads them";
                return Err(Error::unsupported("shadow descriptor table", what));
            }
        }))
    }

    fn in_root(&self, dword: u32) -> Value {
        Value { bits: dword.saturating_mul(4), spilled: Some(dword) }
    }

    fn place(&self, set: u32, binding: u32) -> Result<&DescriptorPlace> {
        let found = self.0.binding(set, binding);
        found.ok_or_else(|| Error::malformed(format!("the layout has no binding {binding} in set {set}")))
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
        let there = self.0.push_constants().map_or(0, |p| p.dwords.saturating_mul(4));
        if bytes > there {
            return Err(Error::malformed(format!(
                "the shader reads {bytes} bytes of push constants, the layout has {there}"
            )));
        }
        Ok(())
    }
}

/// Checks that the code can read the spill table: user data must hold its address, and a root buffer must have its
/// `dusespill` symbol.
fn reachable(object: &Object, symbol: &LinkSymbol, value: Value) -> Result<()> {
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
        return Err(Error::malformed(format!("`{symbol}` is read through a spill table that the stage does not have")));
    }
    Ok(())
}

/// Whether the value fits the offset of a scalar load, with the part's own offset added.
pub(super) fn is_near(object: &Object, code: &[u8], offset: u32, value: u32) -> bool {
    let word = code.get(offset as usize..).and_then(|rest| rest.first_chunk());
    word.is_some_and(|word| {
        fits(&object.isa().words, RelocKind::SmemOffset, u32::from_le_bytes(*word).into(), value.into())
    })
}

pub(super) fn too_far(symbol: &LinkSymbol, value: u32) -> Error {
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
