//! Handmade unlinked ELFs for the linker's tests, and LLVM's tools to check the output.
//!
//! This writer is independent of the linker's: it lays sections out in llc's order, so that nothing can depend on our
//! own order.
#![allow(dead_code, reason = "each test binary uses its part")]

use dovetail::metadata::document::{Document, Map, set};
use dovetail::metadata::interface::*;
use dovetail::metadata::notes::MetadataFields;
use dovetail::metadata::registers::RegisterWords;
use dovetail::metadata::{note, write_unlinked};
use dovetail::state::*;
use dovetail::target::{Gpu, Stage, WaveSize};
use rmpv::Value;
use std::path::Path;
use std::process::Command;

/// R_AMDGPU kinds by number.
pub const ABS32_LO: u32 = 1;
pub const ABS32_HI: u32 = 2;
pub const REL16: u32 = 14;

pub const S_NOP: u32 = 0xBF80_0000;
pub const S_ENDPGM: u32 = 0xBF81_0000;
pub const S_BRANCH: u32 = 0xBF82_0000;
pub const S_CODE_END: u32 = 0xBF9F_0000;
/// `s_mov_b32 s<n>, literal`; the literal follows.
pub fn s_mov_literal(n: u32) -> u32 {
    0xBE80_03FF | n << 16
}

/// The target of a relocation.
#[derive(Clone, Debug)]
pub enum Against {
    /// An undefined symbol.
    Open(String),
    /// The section symbol of constant data.
    Section(String),
}

/// Name, type, flags, alignment, link, info, entry size, bytes.
type RawSection = (String, u32, u64, u64, u32, u32, u64, Vec<u8>);

/// An unlinked ELF under construction.
#[derive(Clone, Debug)]
pub struct Unlinked {
    pub interface: StageInterface,
    /// The body, without joint.
    pub code: Vec<u32>,
    /// Alignment of `.text`, in bytes.
    pub align: u64,
    /// Offset in `.text`, kind, symbol.
    pub relocations: Vec<(u32, u32, Against)>,
    /// Name, alignment, bytes.
    pub data: Vec<(String, u64, Vec<u8>)>,
    /// Relocations of the first section of data.
    pub data_relocations: Vec<(u32, u32, Against)>,
    pub registers: Vec<(u32, u32)>,
    pub sgprs: u32,
    pub vgprs: u32,
    /// Scratch memory per lane, in bytes.
    pub scratch: u32,
    pub symbol: String,
    pub joint: bool,
    pub flags: u32,
    pub pipeline: Map,
}

impl Unlinked {
    pub fn new(interface: StageInterface, code: Vec<u32>) -> Self {
        let stage = interface.stage;
        let symbol = interface.body_symbol();
        let registers = match stage {
            Stage::Vertex => vec![(0x2C4A, 0x082C_0000), (0x2C4B, 0)],
            Stage::Fragment => vec![(0x2C0A, 0x022C_0000), (0x2C0B, 0), (0xA1B3, 2), (0xA1B4, 2)],
            Stage::Compute => vec![(0x2E12, 0x602C_0000), (0x2E13, 0)],
        };
        let joint = interface.epilog;
        Self {
            symbol: symbol.to_owned(),
            interface,
            code,
            align: 256,
            relocations: vec![],
            data: vec![],
            data_relocations: vec![],
            registers,
            sgprs: 12,
            vgprs: 10,
            scratch: 0,
            joint,
            flags: 0x36,
            pipeline: Map::new(),
        }
    }

    /// The same for another GPU.
    pub fn on(mut self, gpu: Gpu) -> Self {
        (self.interface.target, self.flags) = (gpu, gpu.elf_flags());
        self
    }

    /// Prepends `s_mov_b32 s<n>, <symbol>` to the body.
    pub fn load_symbol(mut self, n: u32, symbol: &str) -> Self {
        let at = 4 * self.code.len() as u32;
        let end = self.code.pop();
        self.code.extend([s_mov_literal(n), 0]);
        self.code.extend(end);
        self.relocations.push((at, ABS32_LO, Against::Open(symbol.to_owned())));
        self
    }

    pub fn note(&self) -> Vec<u8> {
        let document = write_unlinked::document(
            &self.symbol,
            &MetadataFields::new(),
            &RegisterWords::new(self.interface.target.family()),
            &self.interface,
            &[],
        );
        let mut pipeline = Document::parse(&document.unwrap()).unwrap().pipeline;
        let mut own = Map::new();
        set(&mut own, ".entry_point", self.symbol.as_str().into());
        set(&mut own, ".scratch_memory_size", self.scratch.into());
        set(&mut own, ".sgpr_count", self.sgprs.into());
        set(&mut own, ".vgpr_count", self.vgprs.into());
        set(
            &mut pipeline,
            ".hardware_stages",
            Value::Map(vec![(self.interface.hardware_stage().key().into(), Value::Map(own))]),
        );
        let registers = self.registers.iter().map(|&(r, w)| (r.into(), w.into())).collect();
        set(&mut pipeline, ".registers", Value::Map(registers));
        for (key, value) in &self.pipeline {
            set(&mut pipeline, key.as_str().unwrap(), value.clone());
        }
        note::write_section(self.interface.target, &Document { version: None, pipeline }.to_bytes())
    }

    pub fn build(&self) -> Vec<u8> {
        let mut text = self.code.clone();
        let body_size = 4 * text.len() as u64;
        let mut rels = self.relocations.clone();
        if self.joint {
            rels.push((body_size as u32, REL16, Against::Open("dovetail.next".into())));
            text.push(S_BRANCH);
        }
        text.extend([S_CODE_END; 48]);
        let mut sections: Vec<RawSection> = vec![
            (String::new(), 0, 0, 0, 0, 0, 0, vec![]),
            (".strtab".into(), 3, 0, 1, 0, 0, 0, vec![]),
            (".text".into(), 1, 6, self.align, 0, 0, 0, text.iter().flat_map(|w| w.to_le_bytes()).collect()),
        ];
        for (name, align, bytes) in &self.data {
            sections.push((name.clone(), 1, 0x12, *align, 0, 0, 32, bytes.clone()));
        }
        sections.push((".note.GNU-stack".into(), 1, 0, 1, 0, 0, 0, vec![]));
        sections.push((".note".into(), 7, 0, 4, 0, 0, 0, self.note()));
        let symtab = sections.len() as u32;

        let mut strtab = vec![0u8];
        let name = |text: &str, strtab: &mut Vec<u8>| {
            let at = strtab.len() as u32;
            strtab.extend(text.as_bytes());
            strtab.push(0);
            at
        };
        let mut symbols: Vec<u8> = vec![0; 24];
        let add = |symbols: &mut Vec<u8>, name: u32, info: u8, section: u16, size: u64| {
            symbols.extend(name.to_le_bytes());
            symbols.extend([info, 0]);
            symbols.extend(section.to_le_bytes());
            symbols.extend(0u64.to_le_bytes());
            symbols.extend(size.to_le_bytes());
            symbols.len() as u32 / 24 - 1
        };
        let mut known: Vec<(String, u32)> = vec![];
        for (i, (section, _, _)) in self.data.iter().enumerate() {
            let index = add(&mut symbols, 0, 3, 3 + i as u16, 0);
            known.push((format!("section {section}"), index));
        }
        let locals = symbols.len() as u32 / 24;
        let body = name(&self.symbol, &mut strtab);
        add(&mut symbols, body, 0x12, 2, body_size);
        let mut records = |list: &[(u32, u32, Against)]| -> Vec<u8> {
            let mut out = vec![];
            for (offset, kind, against) in list {
                let key = match against {
                    Against::Open(name) => format!("open {name}"),
                    Against::Section(name) => format!("section {name}"),
                };
                let index = match known.iter().find(|(k, _)| *k == key) {
                    Some((_, index)) => *index,
                    None => {
                        let Against::Open(text) = against else { panic!("no such section: {against:?}") };
                        let at = name(text, &mut strtab);
                        let index = add(&mut symbols, at, 0x10, 0, 0);
                        known.push((key, index));
                        index
                    }
                };
                out.extend(u64::from(*offset).to_le_bytes());
                out.extend(kind.to_le_bytes());
                out.extend(index.to_le_bytes());
            }
            out
        };
        let text_rels = records(&rels);
        let data_rels = records(&self.data_relocations);
        sections.push((".symtab".into(), 2, 0, 8, 1, locals, 24, symbols));
        sections.push((".rel.text".into(), 9, 0x40, 8, symtab, 2, 16, text_rels));
        if !data_rels.is_empty() {
            sections.push((".rel.data".into(), 9, 0x40, 8, symtab, 3, 16, data_rels));
        }
        let names: Vec<u32> = sections.iter().map(|s| name(&s.0, &mut strtab)).collect();
        sections[1].7 = strtab;
        let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 65, 0, 0, 0, 0, 0, 0, 0, 0];
        out.resize(64, 0);
        let mut headers = vec![];
        for (section, name) in sections.iter().zip(names) {
            let (_, kind, flags, align, link, info, entry, bytes) = section;
            out.resize(out.len().next_multiple_of((*align).max(1) as usize), 0);
            headers.extend(name.to_le_bytes());
            headers.extend(kind.to_le_bytes());
            for word in [*flags, 0, out.len() as u64, bytes.len() as u64] {
                headers.extend(word.to_le_bytes());
            }
            headers.extend(link.to_le_bytes());
            headers.extend(info.to_le_bytes());
            headers.extend(align.to_le_bytes());
            headers.extend(entry.to_le_bytes());
            out.extend(bytes);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let table = out.len() as u64;
        out.extend(headers);
        let mut header: Vec<u8> = out[..16].to_vec();
        header.extend(1u16.to_le_bytes());
        header.extend(224u16.to_le_bytes());
        header.extend(1u32.to_le_bytes());
        for word in [0, 0, table] {
            header.extend(word.to_le_bytes());
        }
        header.extend(self.flags.to_le_bytes());
        for half in [64, 0, 0, 64, sections.len() as u16, 1] {
            header.extend(half.to_le_bytes());
        }
        out[..64].copy_from_slice(&header);
        out
    }
}

fn interface(stage: Stage, user_data: Vec<UserData>, system: u32, kind: StageKind) -> StageInterface {
    let graphics = stage != Stage::Compute;
    StageInterface {
        target: Gpu::Gfx1030,
        stage,
        wave: if stage == Stage::Fragment { WaveSize::W64 } else { WaveSize::W32 },
        entry_point: "main".into(),
        prolog: stage == Stage::Vertex,
        epilog: graphics,
        entry_sgprs: user_data.len() as u32 + system,
        user_data,
        resources: vec![],
        push_constant_bytes: 0,
        spill_threshold: None,
        specialization: vec![],
        spec_operands: vec![],
        writes_memory: false,
        kind,
    }
}

/// A vertex shader: one attribute as input, one parameter vector as output.
pub fn vertex() -> Unlinked {
    use UserData::*;
    let params = (0..4u8)
        .map(|component| VertexParam {
            semantic: Semantic::Location(0),
            component,
            ty: ComponentType::F32,
            source: ParamSource::Vgpr(component.into()),
        })
        .collect();
    let kind = StageKind::Vertex(VertexInterface {
        fetch: FetchInterface {
            inputs: vec![VertexInput { location: 0, component: 0, count: 4, ty: ComponentType::F32 }],
            ..Default::default()
        },
        pre_rasterization: PreRasterizationInterface {
            params,
            positions: PositionExports { count: 1, ..Default::default() },
            ..Default::default()
        },
        ..Default::default()
    });
    let user = vec![GlobalTable, PerShaderTable, VertexBufferTable, BaseVertex, BaseInstance];
    let mut interface = interface(Stage::Vertex, user, 0, kind);
    interface.user_data.insert(2, DescriptorSet(0));
    interface.user_data.push(SpillTable);
    interface.entry_sgprs = interface.user_data.len() as u32;
    // exp pos0 v4, v5, v6, v7 done
    Unlinked::new(interface, vec![0xF800_08CF, 0x0706_0504, S_NOP])
}

/// A fragment shader: one colour, computed from one input.
pub fn fragment() -> Unlinked {
    let kind = StageKind::Fragment(FragmentInterface {
        inputs: vec![FragmentInput {
            semantic: Semantic::Location(0),
            channels: 15,
            flat: false,
            per_vertex: false,
            ty: ComponentType::F32,
        }],
        colors: vec![ColorOutput {
            location: 0,
            index: 0,
            channels: 15,
            ty: ComponentType::F32,
            values: [0, 1, 2, 3].map(|register| Some(ResultSource::Vgpr(register))),
        }],
        ..Default::default()
    });
    let user = vec![UserData::GlobalTable, UserData::PerShaderTable, UserData::DescriptorSet(0), UserData::SpillTable];
    Unlinked::new(interface(Stage::Fragment, user, 1, kind), vec![S_NOP; 5])
}

/// A compute shader.
pub fn compute() -> Unlinked {
    use UserData::*;
    let kind = StageKind::Compute(ComputeInterface { local_size: [8, 4, 1], tidig_comp_cnt: 1, lds_bytes: 0 });
    let user = vec![
        GlobalTable,
        PerShaderTable,
        WorkgroupCountLow,
        WorkgroupCountHigh,
        DescriptorSet(0),
        PushConstant(1),
        SpillTable,
    ];
    Unlinked::new(interface(Stage::Compute, user, 4, kind), vec![S_NOP, S_ENDPGM])
}

/// A state for the shaders above.
pub fn state() -> PipelineState {
    use dovetail::kinds::ResourceKind;
    let binding = |binding, kind: ResourceKind, dynamic| BindingLayout {
        binding,
        kind: kind.into(),
        count: 2,
        dynamic,
        offset: None,
        samplers: Vec::new(),
    };
    PipelineState {
        layout: ResourceLayout {
            sets: vec![
                SetLayout {
                    set: 0,
                    root: None,
                    bindings: vec![
                        binding(0, ResourceKind::UniformBuffer, false),
                        binding(1, ResourceKind::CombinedImageSampler, false),
                        binding(2, ResourceKind::StorageBuffer, true),
                        binding(3, ResourceKind::StorageTexelBuffer, false),
                    ],
                },
                SetLayout { set: 1, root: None, bindings: vec![] },
            ],
            push_constant_bytes: 16,
            push_constant_root: None,
        },
        vertex: VertexInputState {
            bindings: vec![VertexBinding { binding: 0, stride: 16, rate: VertexRate::Vertex, divisor: 1 }],
            attributes: vec![VertexAttribute {
                location: 0,
                binding: 0,
                format: "R32G32B32A32_SFLOAT".parse().unwrap(),
                offset: 0,
            }],
        },
        color: ColorState {
            attachments: vec![ColorAttachment {
                location: 0,
                format: "R8G8B8A8_UNORM".parse().unwrap(),
                write_mask: 15,
                blend: false,
                blend_source_alpha: false,
            }],
            samples: 4,
            ..Default::default()
        },
        device_index: 3,
        ..Default::default()
    }
}

/// The dword at a byte offset.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a dword"))
}

// Dovetail's own relocations (docs/unlinked-elf.md).
pub const SMEM_OFFSET: u32 = 0xe0;
pub const TABLE: u32 = 0xe2;
pub const JOIN: u32 = 0xe3;
pub const OPTIONAL: u32 = 0xe4;
pub const DISTANCE: u32 = 0xe5;

pub const S_CBRANCH_SCC0: u32 = 0xbf84_0000;
/// `s_mov_b32 s7, s1`
pub const MOVE: u32 = 0xbe87_0301;
/// No offset register, in the second dword of a scalar load; `s6` there.
pub const NO_OFFSET: u32 = 0xfa00_0000;
pub const S6: u32 = 0x0c00_0000;

/// First dword of a load of 4, 8 or 16 dwords to registers from `data` on, by the address in s4 and s5.
pub fn scalar_load(dwords: u32, data: u32) -> u32 {
    0xf400_0000 | dwords.trailing_zeros() << 18 | data << 6 | (4 / 2)
}

/// A branch over a move for buffers in the root table, four loads of which the first may be from there, two literals, and a
/// branch back to the move.
pub fn removable() -> Unlinked {
    let mut part = compute();
    part.code = vec![
        S_CBRANCH_SCC0 | 14,
        MOVE,
        scalar_load(4, 8),
        S6,
        scalar_load(4, 12),
        NO_OFFSET,
        scalar_load(4, 16),
        NO_OFFSET,
        scalar_load(4, 20),
        NO_OFFSET,
        s_mov_literal(30),
        0,
        s_mov_literal(31),
        0,
        S_BRANCH | 0xfff2,
        S_ENDPGM,
    ];
    let open = |symbol: &str| Against::Open(symbol.into());
    part.relocations = vec![
        (56, DISTANCE, open("dusespill")),
        (44, ABS32_LO, open("dstride_0_1")),
        (0, DISTANCE, open("dusespill")),
        (4, OPTIONAL, open("dusespill")),
        (8, TABLE, open("dusespill_0_0")),
        (12, SMEM_OFFSET, open("doff_0_0_b")),
        (20, SMEM_OFFSET, open("doff_0_1_b")),
        (28, SMEM_OFFSET, open("doff_0_2_b")),
        (36, SMEM_OFFSET, open("doff_0_3_b")),
        (32, JOIN, open("doff_0_3_b")),
        (16, JOIN, open("doff_0_1_b")),
        (24, JOIN, open("doff_0_2_b")),
        (52, ABS32_LO, Against::Section(".rodata".into())),
    ];
    part.data.push((".rodata".into(), 16, vec![7; 16]));
    part
}

/// Four buffers at these offsets; without one, it is in the root table.
pub fn buffers(offsets: [Option<u32>; 4]) -> PipelineState {
    let binding = |(binding, offset): (u32, &Option<u32>)| BindingLayout {
        binding,
        kind: dovetail::kinds::ResourceKind::UniformBuffer.into(),
        count: 1,
        dynamic: offset.is_none(),
        offset: *offset,
        samplers: Vec::new(),
    };
    let bindings = (0..).zip(&offsets).map(binding).collect();
    let layout = ResourceLayout {
        sets: vec![SetLayout { set: 0, root: None, bindings }],
        push_constant_bytes: 16,
        push_constant_root: None,
    };
    PipelineState { layout, ..state() }
}

/// Runs an LLVM tool on an ELF. If the tool is missing, prints that and returns `None`; CI fails on it.
pub fn tool(name: &str, args: &[&str], elf: &[u8]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.elf");
    std::fs::write(&path, elf).unwrap();
    run(name, args, &path)
}

fn run(name: &str, args: &[&str], path: &Path) -> Option<String> {
    match Command::new(name).args(args).arg(path).output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{name} is missing");
            eprintln!("skipped: {name} is missing");
            None
        }
        Err(e) => panic!("{name}: {e}"),
        Ok(out) => {
            let errors = String::from_utf8(out.stderr).unwrap();
            assert!(out.status.success() && errors.is_empty(), "{name}: {errors}");
            Some(String::from_utf8(out.stdout).unwrap())
        }
    }
}
