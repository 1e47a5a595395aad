//! Writes a [`StageInterface`] into the pipeline map of an unlinked ELF, and reads it back.
//!
//! Each field is a key: `.dovetail.<field>`, or `.dovetail.<stage>.<field>` for fields of one stage only; the values
//! are the fields' serde forms, structs as arrays. A field that is 0, false, empty or none has no key. `.vertexInputs` and
//! `.colorExports` repeat part of the interface in LLPC's terms (pal-abi 2.1), for its tools; they are not read back. A new
//! field needs its name in a table here, and a new [`GENERATION`].

use super::interface::{
    ColorOutput, ComponentType, ComputeInterface, FragmentInterface, StageInterface, StageKind, VertexInput,
    VertexInterface,
};
use super::msgpack::Writer;
use crate::error::{Error, FullCompile, Result};
use crate::kinds::NumericKind;
use crate::target::{GfxIp, Stage, WaveSize};
use serde::Serialize;
use serde::de::{self, MapAccess};

/// Incremented with every change of the interface's meaning; a part of another generation cannot be linked.
pub const GENERATION: u32 = 8;

/// Prefix of Dovetail's own keys, which a final ELF does not have.
pub const PREFIX: &str = ".dovetail.";

/// LLPC's keys that only unlinked ELFs have.
pub const LLPC_UNLINKED_KEYS: [&str; 2] = [".vertexInputs", ".colorExports"];

const GENERATION_KEY: &str = ".dovetail.generation";

/// Why the code is less optimized than requested; only present if it is. Not part of the interface: it does not affect
/// the link.
pub const SIMPLIFIED_KEY: &str = ".dovetail.simplified";

/// The feature that the requested code generator does not support, if another one generated the code. Not part of the
/// interface.
pub const FALLBACK_KEY: &str = ".dovetail.fallback";

/// Keys under [`PREFIX`] that are not fields of an interface.
const NOT_INTERFACE: [&str; 3] = [GENERATION_KEY, SIMPLIFIED_KEY, FALLBACK_KEY];

/// The keys of a struct's fields.
struct Keys {
    all: &'static [&'static str],
    /// How many of them, the first ones, are always there. The others are left out if the field is its type's default.
    always: usize,
}

/// The keys of a struct's fields, those that are always there in parentheses, and the functions that write and read them.
/// A field that is not listed does not compile.
macro_rules! fields {
    (
        $struct:ident $(but $other:ident)?, $prefix:literal, $keys:ident, $write:ident, $read:ident:
        ($($always:ident)*) $($field:ident)*
    ) => {
        const $keys: Keys = Keys {
            all: &[
                $(concat!(".dovetail.", $prefix, stringify!($always)),)*
                $(concat!(".dovetail.", $prefix, stringify!($field)),)*
            ],
            always: <[&str]>::len(&[$(stringify!($always)),*]),
        };

        /// Writes the fields' entries and returns their number.
        fn $write(out: &mut Writer, fields: &$struct) -> Result<usize> {
            let $struct { $($always,)* $($field,)* $($other: _)? } = fields;
            let mut entries = $keys.always;
            $(entry(out, concat!(".dovetail.", $prefix, stringify!($always)), $always)?;)*
            $(if !is_default($field) {
                entry(out, concat!(".dovetail.", $prefix, stringify!($field)), $field)?;
                entries += 1;
            })*
            Ok(entries)
        }

        fn $read<'de, A: MapAccess<'de>>(key: &str, map: &mut A, to: &mut Read<$struct>) -> std::result::Result<(), A::Error> {
            let number = to.see($keys.all, key).map_err(de::Error::custom)?;
            let mut numbers = 0..;
            $(
                if numbers.next() == Some(number) {
                    to.fields.$always = map.next_value()?;
                    return Ok(());
                }
            )*
            $(
                if numbers.next() == Some(number) {
                    to.fields.$field = map.next_value()?;
                    return Ok(());
                }
            )*
            Err(de::Error::custom(format!("unknown key {key}")))
        }
    };
}

fn entry(out: &mut Writer, key: &str, field: &impl Serialize) -> Result<()> {
    out.str(key);
    out.serde(field).map_err(|e| Error::bug(format!("stage interface: {key}: {e}")))
}

fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// A struct while the keys of its fields are being read.
struct Read<T> {
    fields: T,
    /// Bit n: the key with number n has been read.
    seen: u32,
}

impl<T> Read<T> {
    /// Marks a key as read, and returns its number.
    fn see(&mut self, keys: &[&str], key: &str) -> std::result::Result<usize, String> {
        // Our files have the keys in this order.
        let next = (u32::BITS - self.seen.leading_zeros()) as usize;
        let number = (next..keys.len()).chain(0..next).find(|number| keys[*number] == key);
        let number = number.ok_or_else(|| format!("unknown key {key}"))?;
        if self.seen >> number & 1 == 1 {
            return Err(format!("the key {key} twice"));
        }
        self.seen |= 1 << number;
        Ok(number)
    }

    fn check(&self, keys: &Keys) -> Result<()> {
        match keys.all[..keys.always].iter().enumerate().find(|(number, _)| self.seen >> number & 1 == 0) {
            Some((_, key)) => Err(Error::malformed(format!("stage interface: no key {key}"))),
            None => Ok(()),
        }
    }
}

/// A pipeline map while its interface is being read. Its entries come in any order, except that the generation's comes
/// first.
pub(super) struct Reading {
    generation: Option<u64>,
    stage: Read<StageInterface>,
    vertex: Read<VertexInterface>,
    fragment: Read<FragmentInterface>,
    compute: Read<ComputeInterface>,
}

impl Reading {
    pub(super) fn new() -> Self {
        // Placeholder: each field is replaced, or reading fails.
        let kind = StageKind::Compute(ComputeInterface::default());
        let stage = StageInterface::new(GfxIp::Gfx1030, Stage::Vertex, WaveSize::W32, String::new(), kind);
        Self {
            generation: None,
            stage: Read { fields: stage, seen: 0 },
            vertex: Read { fields: VertexInterface::default(), seen: 0 },
            fragment: Read { fields: FragmentInterface::default(), seen: 0 },
            compute: Read { fields: ComputeInterface::default(), seen: 0 },
        }
    }

    /// Reads the value of one key; `field` is what follows [`PREFIX`].
    pub(super) fn entry<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        field: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        if key == GENERATION_KEY {
            self.generation = Some(map.next_value()?);
            return match self.generation {
                Some(generation) if generation == u64::from(GENERATION) => Ok(()),
                _ => Err(de::Error::custom("another generation")),
            };
        }
        if field.starts_with("vertex.") {
            read_vertex(key, map, &mut self.vertex)
        } else if field.starts_with("fragment.") {
            read_fragment(key, map, &mut self.fragment)
        } else if field.starts_with("compute.") {
            read_compute(key, map, &mut self.compute)
        } else if NOT_INTERFACE.contains(&key) {
            map.next_value::<de::IgnoredAny>().map(drop)
        } else {
            read_stage(key, map, &mut self.stage)
        }
    }

    /// # Errors
    /// Needs a full compile: another generation than ours was read.
    pub(super) fn check_generation(&self) -> Result<()> {
        match self.generation {
            Some(generation) if generation != u64::from(GENERATION) => {
                let what = "the generation of the stage interface".to_owned();
                Err(Error::needs_full(FullCompile::Mismatch { what }))
            }
            _ => Ok(()),
        }
    }

    /// The interface.
    ///
    /// # Errors
    /// Malformed: no interface, or one with missing fields or those of another stage.
    pub(super) fn finish(self) -> Result<StageInterface> {
        if self.generation.is_none() {
            return Err(Error::malformed("no stage interface: this is not an unlinked ELF of ours"));
        }
        self.stage.check(&STAGE_KEYS)?;
        let mut interface = self.stage.fields;
        let others = match interface.stage {
            Stage::Vertex => self.fragment.seen | self.compute.seen,
            Stage::Fragment => self.vertex.seen | self.compute.seen,
            Stage::Compute => self.vertex.seen | self.fragment.seen,
        };
        if others != 0 {
            return Err(Error::malformed(format!(
                "stage interface: a {} stage with fields of others",
                interface.stage
            )));
        }
        interface.kind = match interface.stage {
            Stage::Vertex => {
                self.vertex.check(&VERTEX_KEYS)?;
                StageKind::Vertex(self.vertex.fields)
            }
            Stage::Fragment => {
                self.fragment.check(&FRAGMENT_KEYS)?;
                StageKind::Fragment(self.fragment.fields)
            }
            Stage::Compute => {
                self.compute.check(&COMPUTE_KEYS)?;
                StageKind::Compute(self.compute.fields)
            }
        };
        Ok(interface)
    }
}

fields!(StageInterface but kind, "", STAGE_KEYS, write_stage, read_stage:
    (target stage wave entry_point) prolog epilog user_data entry_sgprs resources push_constant_bytes spill_threshold
    specialization spec_operands writes_memory);
fields!(VertexInterface, "vertex.", VERTEX_KEYS, write_vertex, read_vertex:
    () inputs awaits_inputs takes_address_high params exported_params positions vgpr_comp_cnt uses_primitive_id multiview made_for);
fields!(FragmentInterface, "fragment.", FRAGMENT_KEYS, write_fragment, read_fragment:
    () inputs constants colors depth stencil sample_mask writes_depth writes_stencil writes_sample_mask kills early_fragment_tests
    post_depth_coverage fully_covered depth_mode pixel_center_integer per_sample per_pixel exported);
fields!(ComputeInterface, "compute.", COMPUTE_KEYS, write_compute, read_compute: () local_size tidig_comp_cnt lds_bytes);

/// Writes an interface as entries of the pipeline map of an unlinked ELF, and returns their number.
///
/// # Errors
/// A bug: a field without a msgpack form.
pub(super) fn write(out: &mut Writer, interface: &StageInterface) -> Result<usize> {
    out.str(GENERATION_KEY);
    out.uint(GENERATION.into());
    let entries = 1 + write_stage(out, interface)?;
    let more = match &interface.kind {
        StageKind::Vertex(v) => {
            let entries = write_vertex(out, v)?;
            out.str(LLPC_UNLINKED_KEYS[0]);
            out.array(v.inputs.len());
            v.inputs.iter().for_each(|input| vertex_input(out, input));
            entries + 1
        }
        StageKind::Fragment(f) => {
            let entries = write_fragment(out, f)?;
            out.str(LLPC_UNLINKED_KEYS[1]);
            let extra = [f.depth, f.stencil, f.sample_mask].map(|vgpr| vgpr.is_some());
            out.array(f.colors.len() + usize::from(extra.contains(&true)));
            f.colors.iter().enumerate().for_each(|(target, color)| color_export(out, target, color));
            if extra.contains(&true) {
                depth_export(out, extra);
            }
            entries + 1
        }
        StageKind::Compute(c) => write_compute(out, c)?,
    };
    Ok(entries + more)
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
    use crate::metadata::document::{Document, Map, get, set};
    use crate::metadata::interface::{ParamSource, ResourceUse, ResultSource, Semantic, UserData, VertexParam};
    use crate::metadata::read_unlinked::interface_of;
    use rmpv::Value;

    fn interface(stage: Stage, kind: StageKind) -> StageInterface {
        StageInterface {
            target: GfxIp::Gfx1030,
            stage,
            wave: WaveSize::W64,
            entry_point: "main".into(),
            prolog: true,
            epilog: false,
            user_data: vec![UserData::GlobalTable, UserData::PerShaderTable, UserData::DescriptorSet(3)],
            entry_sgprs: 9,
            resources: vec![ResourceUse { set: 3, binding: 1, kind: crate::kinds::ResourceKind::Sampler, count: None }],
            push_constant_bytes: 12,
            spill_threshold: Some(4),
            specialization: vec![crate::kinds::SpecValue { id: 7, value: u64::MAX, default: 0 }],
            spec_operands: vec![crate::kinds::SpecOperand { id: 9, default: 3, bits: 16 }],
            writes_memory: false,
            kind,
        }
    }

    fn samples() -> Vec<StageInterface> {
        let ty = ComponentType { kind: NumericKind::Sint, bits: 16 };
        let vertex = VertexInterface {
            inputs: vec![VertexInput { location: 2, component: 1, count: 3, ty }],
            params: vec![VertexParam {
                semantic: Semantic::ClipDistance(1),
                component: 2,
                ty,
                source: ParamSource::Constant(0x3f80_0000),
            }],
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
        let entries = write(&mut whole, interface).unwrap();
        whole.close_map(head, entries);
        let whole = whole.finish();
        let mut rest = whole.as_slice();
        let Value::Map(map) = rmpv::decode::read_value(&mut rest).unwrap() else { panic!("no map") };
        assert!(rest.is_empty());
        map
    }

    fn extract(map: &Map) -> Result<StageInterface> {
        interface_of(&Document { version: None, pipeline: map.clone() })
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

    #[test]
    fn missing_unknown_and_foreign_fields_are_refused() {
        let map = map(&samples()[0]);
        for key in STAGE_KEYS.all[..STAGE_KEYS.always].iter().chain([&GENERATION_KEY]) {
            let mut less = map.clone();
            less.retain(|(name, _)| name.as_str() != Some(key));
            assert_eq!(less.len() + 1, map.len());
            let err = extract(&less).unwrap_err();
            assert!(matches!(err.kind(), crate::error::ErrorKind::Malformed(_)), "{key}: {err}");
        }
        let mut more = map.clone();
        set(&mut more, ".dovetail.vertex.colour", 1.into());
        assert!(extract(&more).unwrap_err().to_string().contains("unknown key"));
        let mut older = map.clone();
        set(&mut older, GENERATION_KEY, (GENERATION + 1).into());
        assert!(extract(&older).unwrap_err().full_compile().is_some());
        let mut crossed = map;
        set(&mut crossed, ".dovetail.stage", "fragment".into());
        assert!(extract(&crossed).is_err());
    }
}
