//! Metadata 3.0: every register field by name, converted from the words of 2.6, and back.
//!
//! The names are in [`super::named_fields`]: one-bit fields are booleans, wider ones numbers, and two fields are names of
//! enumerators. Fields without a name are set by 3.x drivers
//! themselves: wave-size bits follow from `.wavefront_size`, register counts from `.vgpr_count` and `.sgpr_count`.

use super::document::{Document, Map, get, set, submap};
use super::named_fields::{
    ATTRIBUTE, COMPUTE, COVERAGE, COVERAGES, GROUPS, Group, NGG_GROUPS, NGG_SCALARS, NamedField, PRIMITIVE,
    PRIMITIVE_TYPE, PRIMITIVE_TYPES, SCALARS, SELECTED, SPRITE, SPRITE_ENA, SPRITE_SELECTORS, stage_fields,
};
use super::registers::*;
use super::user_data::pal::NOT_MAPPED;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Family, Gpu, HardwareStage, WaveSize};
use rmpv::Value;

/// Version of the metadata of a pipeline ELF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataVersion {
    /// 2.6: registers by number. Every PAL reads it for GPUs before gfx12, and a prepared link does not allocate.
    #[default]
    Registers,
    /// 3.0: register fields by name, as current drivers write it. Converted from 2.6, in newly allocated memory.
    Named,
}

impl MetadataVersion {
    /// The version that drivers of a GPU expect.
    pub const fn usual(gpu: Gpu) -> Self {
        if gpu.facts().named_metadata { Self::Named } else { Self::Registers }
    }

    /// The version that a file for a GPU has, if this one is asked for: some drivers read one only.
    #[must_use]
    pub const fn read_by(self, gpu: Gpu) -> Self {
        match self {
            Self::Registers if !gpu.facts().numbered_metadata => Self::Named,
            Self::Registers | Self::Named => self,
        }
    }
}

/// Major and minor version of this form.
pub const VERSION: (u32, u32) = (3, 0);

const USER_SGPRS: &str = ".user_sgprs";
const REG_MAP: &str = ".user_data_reg_map";
const CHECKSUM: &str = ".checksum_value";
const GRAPHICS: &str = ".graphics_registers";
const COMPUTE_REGISTERS: &str = ".compute_registers";
const ATTRIBUTES: &str = ".spi_ps_input_cntl";
const POSITIONS: &str = ".spi_shader_pos_format";
const INTERPOLANTS: &str = ".num_interpolants";

/// The hardware stages that pipelines of a GPU have.
fn stages_of(gpu: Gpu) -> impl Iterator<Item = HardwareStage> {
    gpu.family().hardware_stages().map(|stage| stage.hardware)
}

/// The fields of `.spi_shader_pos_format`, in order.
const POSITION_FORMATS: [Field; 5] = [
    spi_shader_pos_format::POS0,
    spi_shader_pos_format::POS1,
    spi_shader_pos_format::POS2,
    spi_shader_pos_format::POS3,
    spi_shader_pos_format::POS4,
];

/// Names and values of those fields that the family has.
fn fields(list: impl IntoIterator<Item = NamedField>, words: &RegisterWords) -> Map {
    let named = |(name, field): NamedField| {
        let value = words.field(field);
        let value = match field.max(words.family()) {
            0 => return None,
            1 => Value::Boolean(value == 1),
            _ => value.into(),
        };
        Some((name.into(), value))
    };
    list.into_iter().filter_map(named).collect()
}

/// Fields of the n-th register of a range.
fn nth(list: &[NamedField], n: u32) -> impl Iterator<Item = NamedField> {
    list.iter().map(move |(name, field)| (*name, field.nth(n)))
}

/// Converts a document of version 2.6 for this GPU to version 3.0.
///
/// # Errors
/// Malformed: not a document written by Dovetail. Unsupported: a value without a name in 3.0.
pub fn from_registers(document: &Document, gpu: Gpu) -> Result<Document> {
    let mut pipeline = document.pipeline.clone();
    let words = words(&pipeline, gpu.family())?;
    if words.field(spi_baryc_cntl::POS_FLOAT_ULC) == 1 {
        return Err(Error::unsupported("pixel centres at integers", "metadata 3.0 has no name for them"));
    }
    pipeline.retain(|(key, _)| key.as_str() != Some(".registers"));
    let mut stages = submap(&pipeline, ".hardware_stages")?.cloned().unwrap_or_default();
    for stage in stages_of(gpu) {
        let Some((_, Value::Map(own))) = stages.iter_mut().find(|(k, _)| k.as_str() == Some(stage.key())) else {
            continue;
        };
        own.extend(fields(stage_fields(stage).iter().copied(), &words));
        let of = StageRegisters::of(stage)?;
        let count = words.field(of.user_sgpr) + 32 * of.user_sgpr_msb.map_or(0, |msb| words.field(msb));
        set(own, USER_SGPRS, count.into());
        let mapped = (0..stage.max_user_sgprs()).map(|n| words.get(of.user_data.nth(n)).unwrap_or(NOT_MAPPED).into());
        set(own, REG_MAP, Value::Array(mapped.collect()));
        if let Some(sum) = words.get(of.checksum) {
            set(own, CHECKSUM, sum.into());
        }
    }
    let is_compute = get(&stages, HardwareStage::Cs.key()).is_some();
    set(&mut pipeline, ".hardware_stages", Value::Map(stages));
    if is_compute {
        set(&mut pipeline, COMPUTE_REGISTERS, Value::Map(fields(COMPUTE.iter().copied(), &words)));
    } else {
        let attributes: Vec<Value> = (0..32)
            .take_while(|n| words.get(SPI_PS_INPUT_CNTL.nth(*n)).is_some())
            .map(|n| Value::Map(fields(nth(ATTRIBUTE, n), &words)))
            .collect();
        set(&mut pipeline, INTERPOLANTS, (attributes.len() as u64).into());
        // An export of which no attachment takes a channel: it only reports the live pixels.
        if words.field(spi_shader_col_format::ALL) != 0 && words.field(cb_shader_mask::ALL) == 0 {
            set(&mut pipeline, ".ps_dummy_export", true.into());
        }
        set(&mut pipeline, GRAPHICS, Value::Map(graphics(&words, attributes)));
    }
    Ok(Document { version: Some(VERSION), pipeline })
}

/// Sets nested maps of fields.
fn set_groups(out: &mut Map, groups: &[Group], words: &RegisterWords) {
    for group in groups {
        set(out, group.name, Value::Map(fields(group.fields.iter().copied(), words)));
    }
}

fn graphics(words: &RegisterWords, attributes: Vec<Value>) -> Map {
    let mut out = Map::new();
    set_groups(&mut out, GROUPS, words);
    out.extend(fields(SCALARS.iter().copied(), words));
    let name = |names: &[&'static str], field| -> Value {
        names.get(words.field(field) as usize).copied().unwrap_or("None").into()
    };
    if words.get(SPI_SHADER_PGM_RSRC1_GS).is_some() {
        set_groups(&mut out, NGG_GROUPS, words);
        out.extend(fields(NGG_SCALARS.iter().copied(), words));
        let (key, field) = PRIMITIVE_TYPE;
        set(&mut out, PRIMITIVE, Value::Map(vec![(key.into(), name(&PRIMITIVE_TYPES, field))]));
    }
    let mut selectors = fields([SPRITE_ENA], words);
    selectors.extend(SPRITE_SELECTORS.iter().map(|(key, field)| ((*key).into(), name(&SELECTED, *field))));
    set(&mut out, SPRITE, Value::Map(selectors));
    set(&mut out, COVERAGE.0, name(&COVERAGES, COVERAGE.1));
    set(&mut out, POSITIONS, Value::Array(POSITION_FORMATS.map(|field| words.field(field).into()).into()));
    set(&mut out, ATTRIBUTES, Value::Array(attributes));
    out
}

/// The register words of a document of either version; for 3.0, the bits that it names, and those that the driver
/// derives from other keys.
///
/// # Errors
/// Malformed: fields of another type, or registers that are not in the table.
pub fn registers(document: &Document, gpu: Gpu) -> Result<RegisterWords> {
    if document.version.is_none_or(|(major, _)| major < VERSION.0) {
        return words(&document.pipeline, gpu.family());
    }
    let (pipeline, family, facts) = (&document.pipeline, gpu.family(), gpu.facts());
    let mut out = RegisterWords::new(family);
    let none = Map::new();
    let stages = submap(pipeline, ".hardware_stages")?.unwrap_or(&none);
    for stage in stages_of(gpu) {
        let Some(own) = submap(stages, stage.key())? else { continue };
        for field in stage_fields(stage) {
            put(&mut out, own, *field)?;
        }
        let of = StageRegisters::of(stage)?;
        let number = |key: &str| get(own, key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let missing = |key: &str| Error::malformed(format!("metadata: {} has no {key}", stage.key()));
        let count = number(USER_SGPRS).ok_or_else(|| missing(USER_SGPRS))?;
        out.set_field(of.user_sgpr, count & 31)?;
        if let Some(msb) = of.user_sgpr_msb {
            out.set_field(msb, count >> 5 & 1)?;
        }
        let lanes = number(".wavefront_size").ok_or_else(|| missing(".wavefront_size"))?;
        let wave = WaveSize::try_from(lanes)?;
        out.set_field(of.wave32, u32::from(wave == WaveSize::W32))?;
        for (key, field, granule) in
            [(".vgpr_count", of.vgprs, facts.vgpr_unit(wave)), (".sgpr_count", of.sgprs, facts.sgpr_unit)]
        {
            let count = number(key).ok_or_else(|| missing(key))?.max(1);
            out.set_field(field, ((count - 1) / granule).min(field.max(family)))?;
        }
        if let Some(sum) = number(CHECKSUM) {
            out.set(of.checksum, sum)?;
        }
        let mapped = get(own, REG_MAP).and_then(Value::as_array).ok_or_else(|| missing(REG_MAP))?;
        for (n, value) in (0..stage.max_user_sgprs()).zip(mapped) {
            match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
                Some(NOT_MAPPED) => {}
                Some(number) => out.set(of.user_data.nth(n), number)?,
                None => return Err(Error::malformed(format!("metadata: {REG_MAP} has {value}"))),
            }
        }
        if let Some(sizes) = get(own, ".threadgroup_dimensions").and_then(Value::as_array) {
            for (n, size) in (0u32..3).zip(sizes) {
                let size = size.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                out.set(COMPUTE_NUM_THREAD.nth(n), size)?;
            }
        }
    }
    if let Some(compute) = submap(pipeline, COMPUTE_REGISTERS)? {
        for field in COMPUTE {
            put(&mut out, compute, *field)?;
        }
        let lds = submap(stages, HardwareStage::Cs.key())?.and_then(|own| get(own, ".lds_size")?.as_u64());
        out.set_field(
            compute_pgm_rsrc2::LDS_SIZE,
            (lds.unwrap_or(0) / u64::from(facts.lds_unit)) as u32 & compute_pgm_rsrc2::LDS_SIZE.max(family),
        )?;
    }
    if let Some(graphics) = submap(pipeline, GRAPHICS)? {
        read_graphics(&mut out, graphics)?;
    }
    Ok(out)
}

fn read_graphics(out: &mut RegisterWords, graphics: &Map) -> Result<()> {
    put_groups(out, graphics, GROUPS)?;
    for field in SCALARS {
        put(out, graphics, *field)?;
    }
    if let Some(map) = submap(graphics, SPRITE)? {
        SPRITE_SELECTORS.iter().try_for_each(|field| put_name(out, map, *field, &SELECTED))?;
        put(out, map, SPRITE_ENA)?;
    }
    put_name(out, graphics, COVERAGE, &COVERAGES)?;
    // Only primitive shaders have it.
    if let Some(map) = submap(graphics, PRIMITIVE)? {
        put_name(out, map, PRIMITIVE_TYPE, &PRIMITIVE_TYPES)?;
        put_groups(out, graphics, NGG_GROUPS)?;
        NGG_SCALARS.iter().try_for_each(|field| put(out, graphics, *field))?;
    }
    let list = |key: &str| get(graphics, key).and_then(Value::as_array).cloned().unwrap_or_default();
    out.set(SPI_SHADER_POS_FORMAT, 0)?;
    for (field, format) in POSITION_FORMATS.into_iter().zip(list(POSITIONS)) {
        out.set_field(field, format.as_u64().unwrap_or(0) as u32 & field.max(out.family()))?;
    }
    for (n, item) in (0u32..32).zip(list(ATTRIBUTES)) {
        let Value::Map(map) = item else { return Err(Error::malformed(format!("metadata: {ATTRIBUTES} has no map"))) };
        out.set(SPI_PS_INPUT_CNTL.nth(n), 0)?;
        nth(ATTRIBUTE, n).try_for_each(|field| put(out, &map, field))?;
    }
    Ok(())
}

/// Adds the fields of nested maps.
fn put_groups(out: &mut RegisterWords, graphics: &Map, groups: &[Group]) -> Result<()> {
    for group in groups {
        let Some(map) = submap(graphics, group.name)? else { continue };
        group.fields.iter().try_for_each(|field| put(out, map, *field))?;
    }
    Ok(())
}

/// Adds a field whose value is one of these names.
fn put_name(out: &mut RegisterWords, map: &Map, (key, field): NamedField, names: &[&str]) -> Result<()> {
    let found = get(map, key).and_then(Value::as_str).and_then(|name| names.iter().position(|n| *n == name));
    let number = found.ok_or_else(|| Error::malformed(format!("metadata: PAL has no name {key}")))?;
    out.set_field(field, number as u32)
}

/// Adds a named field to its word, if the family has it; one that is absent is 0.
fn put(out: &mut RegisterWords, map: &Map, (key, field): NamedField) -> Result<()> {
    let most = field.max(out.family());
    if most == 0 {
        return Ok(());
    }
    let wrong = |value: &Value| Error::malformed(format!("metadata: {key} is {value}"));
    let value = match get(map, key) {
        None => 0,
        Some(value @ Value::Boolean(set)) => {
            if most == 1 {
                u32::from(*set)
            } else {
                return Err(wrong(value));
            }
        }
        Some(value) => match value.as_u64() {
            Some(number) if most > 1 && number <= u64::from(most) => number as u32,
            _ => return Err(wrong(value)),
        },
    };
    out.set_field(field, value)
}

/// The register words that PAL takes from a document of either version: unlike [`registers`], it passes over unknown ones.
///
/// # Errors
/// Malformed: fields of another type.
pub fn loaded(document: &Document, gpu: Gpu) -> Result<RegisterWords> {
    let by_name = document.version.is_some_and(|(major, _)| major >= VERSION.0);
    let mut out = if by_name { registers(document, gpu)? } else { RegisterWords::new(gpu.family()) };
    for (number, word) in entries(&document.pipeline)? {
        if let Some(register) = HardwareRegister::of_number(gpu.family(), number) {
            out.set(register, word)?;
        }
    }
    Ok(out)
}

/// The words of a `.registers` map.
fn words(pipeline: &Map, family: Family) -> Result<RegisterWords> {
    let mut out = RegisterWords::new(family);
    for (number, word) in entries(pipeline)? {
        let Some(register) = HardwareRegister::of_number(family, number) else {
            return Err(Error::malformed(format!("metadata: register {number:#x} is not in our table")));
        };
        out.set(register, word)?;
    }
    Ok(out)
}

/// The entries of a `.registers` map, if there is one: numbers of registers, and words.
fn entries(pipeline: &Map) -> Result<Vec<(u32, u32)>> {
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let entry = |(register, word): &(Value, Value)| {
        let pair = number(register).zip(number(word));
        pair.ok_or_else(|| Error::malformed(format!("metadata: register {register} = {word}")))
    };
    submap(pipeline, ".registers")?.into_iter().flatten().map(entry).collect()
}

/// The bits of a register that version 3.0 can express, or that the driver derives from other keys.
pub fn named_bits(register: HardwareRegister, gpu: Gpu) -> u32 {
    let family = gpu.family();
    let of = |field: Field| if field.register() == register { field.mask(family) } else { 0 };
    let all = |list: &[NamedField]| list.iter().fold(0, |all, (_, field)| all | of(*field));
    let first = register.info().map(|info| info.first);
    let mut out = GROUPS.iter().chain(NGG_GROUPS).fold(0, |out, group| out | all(group.fields));
    out |= all(NGG_SCALARS)
        | all(&[PRIMITIVE_TYPE])
        | all(SCALARS)
        | all(COMPUTE)
        | all(&SPRITE_SELECTORS)
        | all(&[SPRITE_ENA, COVERAGE]);
    out |= of(compute_pgm_rsrc2::LDS_SIZE) | POSITION_FORMATS.into_iter().fold(0, |all, field| all | of(field));
    for stage in stages_of(gpu) {
        out |= all(stage_fields(stage));
        let Ok(own) = StageRegisters::of(stage) else { continue };
        out |= of(own.user_sgpr) | own.user_sgpr_msb.map_or(0, of) | of(own.wave32) | of(own.vgprs) | of(own.sgprs);
        if register == own.checksum || first == Some(own.user_data) {
            out = u32::MAX;
        }
    }
    // Ranges: all registers have the fields of the first.
    match first {
        Some(SPI_PS_INPUT_CNTL) => ATTRIBUTE.iter().fold(0, |all, (_, field)| all | field.mask(family)),
        Some(COMPUTE_NUM_THREAD) => compute_num_thread::NUM_THREAD_FULL.mask(family),
        _ => out,
    }
}
