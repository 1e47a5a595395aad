//! Writes a [`StageInterface`] into the pipeline map of an unlinked ELF, and reads it back.
//!
//! The interface is one entry: its postcard encoding, as an array of numbers. Postcard identifies fields and variants
//! by their order, and writes small numbers in one byte. A driver reads the interface while a game waits, in a fraction
//! of the time that MessagePack takes. `.vertexInputs` and `.colorExports` repeat part of it in LLPC's terms (pal-abi
//! 2.1), for its tools; they are not read back. A change of a field needs a new [`GENERATION`].

use super::interface::{ColorOutput, ComponentType, StageInterface, StageKind, VertexInput};
use super::msgpack::Writer;
use super::msgpack_read::Reader;
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_base::kinds::NumericKind;

/// Incremented with every change of the interface's form or meaning; a part of another generation cannot be linked.
pub const GENERATION: u32 = 11;

/// Prefix of Dovetail's own keys, which a final ELF does not have.
pub const PREFIX: &str = ".dovetail.";

/// The interface.
pub const INTERFACE_KEY: &str = ".dovetail.interface";

/// LLPC's keys that only unlinked ELFs have.
pub const LLPC_UNLINKED_KEYS: [&str; 2] = [".vertexInputs", ".colorExports"];

const GENERATION_KEY: &str = ".dovetail.generation";

/// Why the code is less optimized than requested; only present if it is. Not part of the interface: it does not affect
/// the link.
pub const SIMPLIFIED_KEY: &str = ".dovetail.simplified";

/// The feature that the requested code generator does not support, if another one generated the code. Not part of the
/// interface.
pub const FALLBACK_KEY: &str = ".dovetail.fallback";

/// A pipeline map while its interface is being read. Its entries come in any order, except that the generation's comes
/// before the interface.
#[derive(Default)]
pub(super) struct Reading {
    generation: Option<u32>,
    interface: Option<StageInterface>,
}

impl Reading {
    /// Reads the value of one key of ours.
    ///
    /// # Errors
    /// Malformed: another key or value. Needs a full compile: another generation than ours.
    pub(super) fn entry(&mut self, key: &[u8], from: &mut Reader<'_>) -> Result<()> {
        let key = std::str::from_utf8(key).map_err(|_| Error::malformed("metadata: a key that is not UTF-8"))?;
        match key {
            GENERATION_KEY if self.generation.is_none() => {
                let generation = from.uint()?;
                self.generation = Some(generation);
                if generation != GENERATION {
                    let what = "the generation of the stage interface".to_owned();
                    return Err(Error::needs_full(FullCompile::Mismatch { what }));
                }
            }
            INTERFACE_KEY if self.interface.is_none() && self.generation.is_some() => {
                self.interface = Some(from.bytes().and_then(|bytes| decode(&bytes)).at(|| key.to_owned())?);
            }
            GENERATION_KEY | INTERFACE_KEY => {
                return Err(Error::malformed(format!("metadata: {key} twice, or before the generation")));
            }
            SIMPLIFIED_KEY | FALLBACK_KEY => _ = from.str()?,
            _ => return Err(Error::malformed(format!("metadata: unknown key {key}"))),
        }
        Ok(())
    }

    /// The interface.
    ///
    /// # Errors
    /// Malformed: no interface, or one with the fields of another stage.
    pub(super) fn finish(self) -> Result<StageInterface> {
        let interface = self.interface;
        let interface =
            interface.ok_or_else(|| Error::malformed("no stage interface: this is not an unlinked ELF of ours"))?;
        let kind = interface.kind.stage();
        if kind != interface.stage {
            let what = format!("stage interface: a {} stage with the fields of a {kind} stage", interface.stage);
            return Err(Error::malformed(what));
        }
        Ok(interface)
    }
}

fn decode(bytes: &[u8]) -> Result<StageInterface> {
    let (interface, rest) = postcard::take_from_bytes(bytes).map_err(|e| Error::malformed(e.to_string()))?;
    if !rest.is_empty() {
        return Err(Error::malformed(format!("{} bytes after the interface", rest.len())));
    }
    Ok(interface)
}

/// Writes the generation as an entry of the pipeline map, the first: the others depend on it.
pub(super) fn write_generation(out: &mut Writer) {
    out.str(GENERATION_KEY);
    out.uint(GENERATION.into());
}

/// Writes an interface as entries of the pipeline map of an unlinked ELF, and returns their number.
///
/// # Errors
/// A bug: a field without a binary form.
pub(super) fn write(out: &mut Writer, interface: &StageInterface) -> Result<usize> {
    out.str(INTERFACE_KEY);
    out.postcard(interface).map_err(|e| Error::bug(format!("stage interface: {e}")))?;
    match &interface.kind {
        StageKind::Vertex(v) => {
            out.str(LLPC_UNLINKED_KEYS[0]);
            out.array(v.fetch.inputs.len());
            v.fetch.inputs.iter().for_each(|input| vertex_input(out, input));
        }
        StageKind::Fragment(f) => {
            out.str(LLPC_UNLINKED_KEYS[1]);
            let extra = [f.depth, f.stencil, f.sample_mask].map(|vgpr| vgpr.is_some());
            out.array(f.colors.len() + usize::from(extra.contains(&true)));
            f.colors.iter().enumerate().for_each(|(target, color)| color_export(out, target, color));
            if extra.contains(&true) {
                depth_export(out, extra);
            }
        }
        StageKind::Compute(_) => return Ok(1),
    }
    Ok(2)
}

fn vertex_input(out: &mut Writer, input: &VertexInput) {
    out.array(3);
    out.uint(input.location.into());
    out.uint(input.component.into());
    type_name(out, input.ty, u32::from(input.count));
}

fn color_export(out: &mut Writer, target: usize, color: &ColorOutput) {
    // The type covers the channels up to the last one written.
    let count = 8 - u32::from(color.channels.leading_zeros() as u8);
    out.array(4);
    out.uint(target as u64);
    out.uint(color.location.into());
    out.bool(color.ty.kind == NumericKind::Sint);
    type_name(out, color.ty, count);
}

/// LLPC's pseudo target 8, whose location is a mask of channels: depth (always), stencil, sample mask.
fn depth_export(out: &mut Writer, [_, stencil, mask]: [bool; 3]) {
    out.array(4);
    out.uint(8);
    out.uint(1 | u64::from(stencil) << 1 | u64::from(mask) << 2);
    out.bool(false);
    type_name(out, ComponentType::F32, 4);
}

fn type_name(out: &mut Writer, ty: ComponentType, count: u32) {
    let letter = if ty.kind == NumericKind::Float { 'f' } else { 'i' };
    if count > 1 {
        out.short(format_args!("v{count}{letter}{}", ty.bits));
    } else {
        out.short(format_args!("{letter}{}", ty.bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Map, get, set};
    use crate::interface::{
        ComputeInterface, FetchInterface, FragmentInterface, ParamSource, PreRasterizationInterface, ResourceUse,
        ResultSource, Semantic, UserData, VertexInterface, VertexParam,
    };
    use crate::read_unlinked::interface_of;
    use dovetail_base::error::ErrorKind;
    use dovetail_base::kinds::{ResourceKind, SpecOperand, SpecValue};
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use rmpv::Value;

    fn interface(stage: Stage, kind: StageKind) -> StageInterface {
        StageInterface {
            target: Gpu::Gfx1030,
            stage,
            wave: WaveSize::W64,
            entry_point: "main".into(),
            prolog: true,
            epilog: false,
            user_data: vec![UserData::GlobalTable, UserData::PerShaderTable, UserData::DescriptorSet(3)],
            entry_sgprs: 9,
            resources: vec![ResourceUse { set: 3, binding: 1, kind: ResourceKind::Sampler, count: None }],
            push_constant_bytes: 12,
            spill_threshold: Some(4),
            specialization: vec![SpecValue { id: 7, value: u64::MAX, default: 0 }],
            spec_operands: vec![SpecOperand { id: 9, default: 3, bits: 16 }],
            writes_memory: false,
            kind,
        }
    }

    fn samples() -> Vec<StageInterface> {
        let ty = ComponentType { kind: NumericKind::Sint, bits: 16 };
        let vertex = VertexInterface {
            fetch: FetchInterface {
                inputs: vec![VertexInput { location: 2, component: 1, count: 3, ty }],
                ..Default::default()
            },
            pre_rasterization: PreRasterizationInterface {
                params: vec![VertexParam {
                    semantic: Semantic::ClipDistance(1),
                    component: 2,
                    ty,
                    source: ParamSource::Constant(0x3f80_0000),
                }],
                ..Default::default()
            },
            ..Default::default()
        };
        let vgpr = ResultSource::Vgpr;
        let color = ColorOutput {
            location: 1,
            index: 0,
            channels: 0b1011,
            ty,
            values: [Some(vgpr(0)), Some(vgpr(1)), None, Some(ResultSource::Constant(2))],
        };
        let fragment = FragmentInterface { colors: vec![color], stencil: Some(vgpr(3)), ..Default::default() };
        let compute = ComputeInterface { local_size: [8, 8, 1], ..Default::default() };
        vec![
            interface(Stage::Vertex, StageKind::Vertex(vertex)),
            interface(Stage::Fragment, StageKind::Fragment(fragment)),
            interface(Stage::Compute, StageKind::Compute(compute)),
        ]
    }

    /// The entries, parsed by another decoder.
    fn map(interface: &StageInterface) -> Map {
        let mut whole = Writer::default();
        let head = whole.open_map();
        write_generation(&mut whole);
        let entries = write(&mut whole, interface).unwrap();
        whole.close_map(head, 1 + entries);
        let whole = whole.finish();
        let mut rest = whole.as_slice();
        let Value::Map(map) = rmpv::decode::read_value(&mut rest).unwrap() else { panic!("no map") };
        assert!(rest.is_empty());
        map
    }

    fn extract(map: &Map) -> Result<StageInterface> {
        interface_of(&Document { version: None, pipeline: map.clone() }, Gpu::default())
    }

    #[test]
    fn every_stage_round_trips_through_bytes() {
        for interface in samples() {
            let mut map = map(&interface);
            set(&mut map, ".spill_threshold", 3.into());
            assert_eq!(extract(&map).unwrap(), interface);
        }
    }

    #[test]
    fn llpc_keys_say_the_same() {
        let map: Map = samples().iter().flat_map(map).collect();
        assert_eq!(get(&map, ".vertexInputs").unwrap().to_string(), r#"[[2, 1, "v3i16"]]"#);
        assert_eq!(
            get(&map, ".colorExports").unwrap().to_string(),
            r#"[[0, 1, true, "v4i16"], [8, 3, false, "v4f32"]]"#
        );
    }

    fn refusal(change: impl FnOnce(&mut Map)) -> Error {
        let mut map = map(&samples()[0]);
        change(&mut map);
        extract(&map).unwrap_err()
    }

    /// Whether the changed entries are malformed, and the error says so in these words.
    fn malformed(words: &str, change: impl FnOnce(&mut Map)) {
        let error = refusal(change);
        assert!(matches!(error.kind(), ErrorKind::Malformed(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}: not {words}");
    }

    fn without(map: &mut Map, key: &str) {
        map.retain(|(name, _)| name.as_str() != Some(key));
    }

    /// The interface's entry in a map: the number of its bytes, and numbers with eight of them each.
    fn numbers(map: &mut Map) -> &mut Vec<Value> {
        let entry = map.iter_mut().find(|(key, _)| key.as_str() == Some(INTERFACE_KEY));
        let Some((_, Value::Array(numbers))) = entry else { panic!("no array") };
        numbers
    }

    fn change_number(map: &mut Map, n: usize, change: impl FnOnce(u64) -> u64) {
        let number = &mut numbers(map)[n];
        *number = change(number.as_u64().unwrap()).into();
    }

    /// Sets the byte of the interface with this index, which is below 8.
    fn set_byte(map: &mut Map, index: u32, byte: u8) {
        let at = 8 * (7 - index);
        change_number(map, 1, |word| word & !(0xff << at) | u64::from(byte) << at);
    }

    #[test]
    fn missing_unknown_and_foreign_fields_are_refused() {
        malformed("before the generation", |map| without(map, GENERATION_KEY));
        malformed("no stage interface", |map| without(map, INTERFACE_KEY));
        malformed("before the generation", |map| map.reverse());
        malformed("twice", |map| map.extend_from_within(..));
        malformed("unknown key", |map| set(map, ".dovetail.colour", 1.into()));
        malformed("an array of bytes", |map| drop(numbers(map).pop()));
        malformed("an array of bytes", |map| numbers(map).push(u64::MAX.into()));
        malformed("an array of bytes", |map| numbers(map)[1] = true.into());
        // The interface lacks its last byte, which would be padding that is not zero if it is not 0.
        malformed(INTERFACE_KEY, |map| change_number(map, 0, |len| len - 1));
        malformed("8 bytes after the interface", |map| {
            change_number(map, 0, |len| len + 8);
            numbers(map).push((1u64 << 56).into());
        });
        malformed(INTERFACE_KEY, |map| set_byte(map, 0, 48));
        malformed(INTERFACE_KEY, |map| set(map, INTERFACE_KEY, 1.into()));
        malformed("a fragment stage with the fields of a vertex stage", |map| {
            set_byte(map, 1, Stage::Fragment as u8);
        });
        let newer = refusal(|map| set(map, GENERATION_KEY, (GENERATION + 1).into()));
        assert!(newer.full_compile().is_some(), "{newer}");
    }
}
