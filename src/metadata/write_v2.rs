//! Encodes final notes as a metadata document of version 2.6: raw registers (pal-abi 3.3, 5).
//!
//! The version comes first, because PAL scans for it. Keys follow in the order of the schema table.

use super::finalize::FinalNotes;
use super::msgpack::Writer;
use super::notes::Fields;
use super::registers::{COMPUTE_NUM_THREAD, Registers, compute_num_thread};
use super::schema::{Key, KeyScope, Type};
use crate::target::Stage;

/// Major and minor version that we write.
pub const VERSION: (u32, u32) = (2, 6);

/// Encodes the document.
pub fn write(notes: &FinalNotes) -> Vec<u8> {
    let mut out = Writer::with_capacity(2048);
    out.map(2);
    out.str("amdpal.version");
    out.array(2);
    out.uint(VERSION.0.into());
    out.uint(VERSION.1.into());
    out.str("amdpal.pipelines");
    out.array(1);
    pipeline(&mut out, notes);
    out.finish()
}

fn pipeline(out: &mut Writer, notes: &FinalNotes) {
    let fields = &notes.notes.pipeline;
    let structured =
        [Key::Type, Key::Api, Key::InternalPipelineHash, Key::Shaders, Key::HardwareStages, Key::Registers];
    out.map(structured.len() + fields.len());
    for key in Key::all().filter(|k| k.place() == KeyScope::Pipeline) {
        match key {
            Key::Type => {
                out.str(key.name());
                out.str(notes.kind);
            }
            Key::Api => {
                out.str(key.name());
                out.str("Vulkan");
            }
            Key::InternalPipelineHash => {
                out.str(key.name());
                hash(out, notes.hash);
            }
            Key::Shaders => {
                out.str(key.name());
                shaders(out, &notes.shaders);
            }
            Key::HardwareStages => {
                out.str(key.name());
                out.map(notes.notes.stages.len());
                for (stage, fields) in &notes.notes.stages {
                    out.str(stage.hardware_name());
                    hardware_stage(out, *stage, fields, &notes.notes.registers);
                }
            }
            Key::Registers => {
                out.str(key.name());
                out.map(notes.notes.registers.len());
                for (register, word) in notes.notes.registers.iter() {
                    out.uint(register.0.into());
                    out.uint(word.into());
                }
            }
            _ => number(out, key, fields),
        }
    }
}

fn shaders(out: &mut Writer, shaders: &[(Stage, [u64; 2])]) {
    out.map(shaders.len());
    for (stage, value) in shaders {
        out.str(stage.api_key());
        out.map(2);
        out.str(".api_shader_hash");
        hash(out, *value);
        out.str(".hardware_mapping");
        out.array(1);
        out.str(stage.hardware_name());
    }
}

fn hardware_stage(out: &mut Writer, stage: Stage, fields: &Fields, registers: &Registers) {
    let is_compute = stage == Stage::Compute;
    out.map(fields.len() + if is_compute { 2 } else { 1 });
    for key in Key::all().filter(|k| k.place() == KeyScope::Stage) {
        match key {
            Key::EntryPoint => {
                out.str(key.name());
                out.str(stage.entry_symbol());
            }
            // PAL of 2025 asserts that a compute stage has it.
            Key::ThreadgroupDimensions if is_compute => {
                out.str(key.name());
                out.array(3);
                for n in 0..3 {
                    let word = registers.get(COMPUTE_NUM_THREAD.nth(n)).unwrap_or(0);
                    out.uint(compute_num_thread::NUM_THREAD_FULL.of(word).into());
                }
            }
            _ => number(out, key, fields),
        }
    }
}

fn number(out: &mut Writer, key: Key, fields: &Fields) {
    if let Some(value) = fields.get(&key) {
        out.str(key.name());
        match key.ty() {
            Type::Bool => out.bool(*value != 0),
            Type::Uint | Type::Other => out.uint((*value).into()),
        }
    }
}

fn hash(out: &mut Writer, value: [u64; 2]) {
    out.array(2);
    value.into_iter().for_each(|half| out.uint(half));
}
