//! Reads an unlinked ELF into an [`Object`]: the body's code, its open values, constant data, and notes.
//!
//! The bytes are untrusted. An [`Object`] guarantees: the code is whole dwords; every relocation lies inside its
//! section and refers to a link-time symbol or to constant data; the branch to the next part is cut off; the notes are
//! those of the one stage that the interface names. An object is made once and linked many times.

use super::fit::{Removals, Shape};
use super::functions::{Call, Extents, Function, FunctionId};
use super::matched::{KeptMatches, ReadsId};
use super::places::{DWORD, DataTarget, LoadReloc, MAX_SECTION, Patch, Patched};
use super::ready::ReadyParts;
use super::touch::Touched;
use super::user_data;
use dovetail_abi::params::ParamVectors;
use dovetail_base::elf::{Elf, Home, MACHINE, OSABI_PAL, RELOCATABLE, Section, Symbol, shf, sht, stt};
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_base::fallible;
use dovetail_base::target::{Gpu, HardwareStage, Stage};
use dovetail_isa::Isa;
use dovetail_metadata::interface::{StageInterface, StageKind, VertexInterface};
use dovetail_metadata::notes::Notes;
use dovetail_metadata::part_notes::PartNotes;
use dovetail_metadata::schema::MetadataKey;
use dovetail_metadata::{note, read_unlinked};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_128;

/// A compiled stage, ready for linking.
#[derive(Clone, Debug)]
pub struct Object {
    pub(super) interface: StageInterface,
    pub(super) notes: PartNotes,
    /// Of a part that can also be a primitive shader: what the file says of it, of which its notes as one are made.
    written: Option<Box<Notes>>,
    /// Those notes, made at the first link that asks for them.
    ngg: OnceLock<Result<PartNotes>>,
    /// The parameters that a vertex body returns.
    pub(super) params: ParamVectors,
    /// Identifies it in metadata.
    pub(super) hash: [u64; 2],
    /// BLAKE3 of the ELF, where the caller has it.
    digest: Option<[u8; 32]>,
    /// The code from the body's first instruction to its last, without the branch to the next part and without padding.
    pub(super) code: Vec<u8>,
    /// Alignment of the code in bytes, at most a cache line.
    pub(super) code_align: u32,
    /// Places in the code that need a value, in order of their offsets.
    pub(super) patches: Vec<Patch>,
    /// What the code may do without.
    pub(super) shape: Shape,
    /// Functions besides the body.
    pub(super) functions: Vec<Function>,
    /// Places in the body and in them with the distance of a function.
    pub(super) calls: Vec<Call>,
    /// Constant data, in file order.
    pub(super) data: Vec<DataSection>,
    /// Relocations that PAL applies at load.
    pub(super) loads: Vec<LoadReloc>,
    /// The places that they refer to, each once.
    pub(super) targets: Vec<DataTarget>,
    /// It with the layouts and states that it has been linked with.
    pub(super) ready: ReadyParts,
    /// Identifies what a fragment part reads; computed when it is first asked for: links without plans do not need it.
    reads: OnceLock<ReadsId>,
    /// What fragment parts that a vertex part has been linked with read of it.
    pub(super) matches: KeptMatches,
}

/// A section of constant data.
#[derive(Clone, Debug)]
pub(super) struct DataSection {
    pub name: String,
    pub align: u32,
    pub flags: u64,
    pub bytes: Vec<u8>,
}

impl Object {
    /// Reads an unlinked ELF.
    ///
    /// # Errors
    /// Malformed: anything that violates the unlinked format (docs/unlinked-elf.md). Unsupported: sections or
    /// relocations that PAL could not load. Needs a full compile: another version of the format, or another GPU.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let elf = Elf::parse(bytes)?;
        let (interface, notes) = {
            // Below, `identify` refuses a file whose flags are those of no GPU.
            let gpu = Gpu::of_elf_flags(elf.flags).unwrap_or_default();
            read_unlinked::read(notes_of(&elf)?, gpu)?
        };
        let stage = interface.stage;
        let at = || format!("{stage} stage `{}`", interface.entry_point);
        identify(&elf, &interface).at(at)?;
        let mut reader =
            Reader { elf: &elf, text: 0, functions: Extents::default(), code_align: DWORD, homes: Vec::new() };
        let isa = Isa::of(interface.target);
        let (mut code, joint) = reader.code(&interface).at(at)?;
        let functions = reader.functions.read(&elf, reader.text).at(at)?;
        let data = reader.data().at(at)?;
        let Relocations { mut patches, loads, targets, removals, calls } = reader.relocations(&data, joint).at(at)?;
        patches.sort_by_key(|patch| patch.offset);
        // A body without instructions has a no-op in the file, which the pipeline does not need: an epilog follows.
        if joint && code == isa.words.nop.to_le_bytes() && patches.is_empty() && loads.is_empty() && calls.is_empty() {
            code.clear();
        }
        let shape = Shape::new(&isa.words, &code, &patches, removals, &loads).at(at)?;
        let hash = part_hash(bytes);
        let written = can_be_ngg(&interface).then(|| Box::new(notes.clone()));
        let notes = PartNotes::new(notes, &interface, hash).at(at)?;
        user_data::check(&interface).at(at)?;
        check_prolog(&interface).at(at)?;
        let params = match interface.kind.pre_rasterization() {
            Some(last) => ParamVectors::new(&last.params).at(at)?,
            None => ParamVectors::default(),
        };
        let code_align = reader.code_align;
        let digest = None;
        Ok(Self {
            interface,
            notes,
            written,
            ngg: OnceLock::new(),
            params,
            hash,
            digest,
            code,
            code_align,
            patches,
            shape,
            functions,
            calls,
            data,
            loads,
            targets,
            ready: ReadyParts::default(),
            reads: OnceLock::new(),
            matches: KeptMatches::default(),
        })
    }

    /// Reads an unlinked ELF, and keeps the BLAKE3 of its bytes, by which a cache finds what was compiled for it.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_digested(bytes: &[u8], digest: &[u8; 32]) -> Result<Self> {
        debug_assert_eq!(blake3::hash(bytes).as_bytes(), digest, "another part's digest");
        Ok(Self { digest: Some(*digest), ..Self::parse(bytes)? })
    }

    /// [`Self::parse_digested`] of an ELF that did not come from a cache.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_new(bytes: &[u8]) -> Result<Self> {
        Self::parse_digested(bytes, blake3::hash(bytes).as_bytes())
    }

    /// BLAKE3 of the ELF that it was read from, if it was read with it.
    pub fn digest(&self) -> Option<&[u8; 32]> {
        self.digest.as_ref()
    }

    /// A part that was made without an ELF.
    pub(super) fn made(interface: StageInterface, notes: Notes, code: Vec<u8>) -> Result<Self> {
        let hash = part_hash(&code);
        let shape = Shape::whole(Isa::of(interface.target));
        Ok(Self {
            written: None,
            ngg: OnceLock::new(),
            notes: PartNotes::new(notes, &interface, hash)?,
            interface,
            reads: OnceLock::new(),
            params: ParamVectors::default(),
            hash,
            digest: None,
            code,
            code_align: DWORD,
            patches: Vec::new(),
            shape,
            functions: Vec::new(),
            calls: Vec::new(),
            data: Vec::new(),
            loads: Vec::new(),
            targets: Vec::new(),
            ready: ReadyParts::default(),
            matches: KeptMatches::default(),
        })
    }

    /// Reads its fields for a link that will follow.
    #[inline]
    pub fn read_ahead(&self) {
        let mut read = Touched::default();
        self.touch(&mut read);
        read.done();
    }

    /// Reads its fields, as a link does: of each group of fields that lie together, one.
    #[inline(always)]
    pub(super) fn touch(&self, read: &mut Touched) {
        let Self { interface, notes, params, hash, code_align, data, .. } = self;
        read.value(interface.specialization.len() ^ interface.stage as usize);
        read.value(match &interface.kind {
            StageKind::Vertex(VertexInterface { pre_rasterization: last, .. }) => {
                last.params.len() ^ last.exported_params as usize
            }
            StageKind::Fragment(fragment) => fragment.inputs.len() ^ usize::from(fragment.fully_covered),
            StageKind::Compute(compute) => compute.local_size[0] as usize,
        });
        read.value(params.count() ^ data.len() ^ notes.touched() ^ hash[0] as usize ^ *code_align as usize);
    }

    /// Reads what its fields of constant data refer to; [`Self::touch_data`] reads the data.
    #[inline(always)]
    pub(super) fn touch_sections(&self, read: &mut Touched) {
        if let Some(section) = self.data.first() {
            read.value(section.bytes.len() ^ self.targets.first().map_or(0, |target| target.section));
        }
    }

    #[inline(always)]
    pub(super) fn touch_data(&self, read: &mut Touched) {
        if let Some(section) = self.data.first() {
            read.run(section.name.as_bytes());
            read.run(&section.bytes);
        }
    }

    /// What it reads, if it is a fragment part.
    pub(super) fn reads(&self) -> ReadsId {
        *self.reads.get_or_init(|| ReadsId::of(&self.interface))
    }

    /// Its interface.
    pub fn interface(&self) -> &StageInterface {
        &self.interface
    }

    /// Its stage.
    pub fn stage(&self) -> Stage {
        self.interface.stage
    }

    /// Its notes for the hardware stage that runs it in a shape of pipelines.
    ///
    /// # Errors
    /// As [`PartNotes::new`].
    pub(super) fn notes_on(&self, hardware: HardwareStage) -> Result<&PartNotes> {
        if hardware == self.interface.hardware_stage() {
            return Ok(&self.notes);
        }
        let made = self.ngg.get_or_init(|| {
            let written = self.written.as_deref().ok_or_else(|| Error::bug("no primitive shader"))?;
            PartNotes::of_ngg(written, &self.interface, self.hash)
        });
        made.as_ref().map_err(Error::clone)
    }

    /// Whether it uses scratch memory, if it can be a primitive shader.
    pub(super) fn uses_scratch(&self) -> bool {
        let size = self.written.as_deref().and_then(|written| written.stage.get(MetadataKey::ScratchMemorySize));
        size.is_some_and(|size| size > 0)
    }

    /// Whether it can run as a primitive shader.
    pub(super) fn can_be_ngg(&self) -> bool {
        self.written.is_some()
    }

    /// The instruction set of its code.
    pub(super) fn isa(&self) -> &'static Isa {
        Isa::of(self.interface.target)
    }

    /// Its name in errors.
    pub(super) fn named(&self) -> String {
        format!("{} stage `{}`", self.stage(), self.interface.entry_point)
    }

    /// Whether it has parameters that are constant.
    pub fn has_constants(&self) -> bool {
        self.interface.kind.pre_rasterization().is_some_and(|last| last.constants().next().is_some())
    }

    /// Names of all symbols that need a value, sorted, without duplicates.
    pub fn open_symbols(&self) -> Vec<String> {
        let mut names: Vec<String> = self.patches.iter().map(|p| p.symbol.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Whether a part for the hardware VS stage can run as a primitive shader: no wave of vertices has the primitive id.
fn can_be_ngg(interface: &StageInterface) -> bool {
    let own = interface.hardware_stage().runs_primitives();
    !own && interface.kind.vertex().is_some_and(|vertex| !vertex.uses_primitive_id)
}

/// The hash of a part that its pipelines' metadata carries; [`mod@super::pipeline_hash`] says why it need not be strong.
fn part_hash(elf: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(elf);
    [hash as u64, (hash >> 64) as u64]
}

/// Only a prolog can leave loads outstanding or the high half of the code's address.
fn check_prolog(interface: &StageInterface) -> Result<()> {
    match interface.kind.fetch() {
        Some(fetch) if !interface.prolog && (fetch.awaits_inputs || fetch.takes_address_high) => {
            Err(Error::malformed("a body without a prolog expects loads or an address from one"))
        }
        _ => Ok(()),
    }
}

fn notes_of<'a>(elf: &Elf<'a>) -> Result<&'a [u8]> {
    let found = elf.sections.iter().find(|s| s.kind == sht::NOTE && s.name == ".note");
    note::metadata(found.ok_or_else(|| Error::malformed("no .note section"))?.data)
}

fn identify(elf: &Elf<'_>, interface: &StageInterface) -> Result<()> {
    if (elf.os_abi, elf.abi_version, elf.machine) != (OSABI_PAL, 0, MACHINE) || elf.file_type != RELOCATABLE {
        return Err(Error::malformed("not a relocatable AMDGPU PAL ELF"));
    }
    if elf.flags != interface.target.elf_flags() {
        let what = format!("the GPU: ELF flags {:#x}, metadata {}", elf.flags, interface.target);
        return Err(Error::needs_full(FullCompile::Mismatch { what }));
    }
    Ok(())
}

/// All relocations of a file.
#[derive(Default)]
struct Relocations {
    patches: Vec<Patch>,
    loads: Vec<LoadReloc>,
    targets: Vec<DataTarget>,
    removals: Removals,
    calls: Vec<Call>,
}

/// Where the section of a symbol was put.
#[derive(Clone, Copy)]
enum Kept {
    Dropped,
    Code,
    Data(usize),
}

struct Reader<'e, 'a> {
    elf: &'e Elf<'a>,
    /// Index of `.text`.
    text: u32,
    /// The functions in it, the body first.
    functions: Extents,
    code_align: u32,
    /// By section index.
    homes: Vec<Kept>,
}

impl Reader<'_, '_> {
    /// Reads the body, and whether a branch to the next part follows it.
    fn code(&mut self, interface: &StageInterface) -> Result<(Vec<u8>, bool)> {
        let (index, text) = self.elf.section(".text").ok_or_else(|| Error::malformed("no .text section"))?;
        self.text = index;
        let mut functions = self.elf.symbols.iter().filter(|s| s.home == Home::Section(index) && s.kind == stt::FUNC);
        let body = functions.next().ok_or_else(|| Error::malformed("no function in .text"))?;
        let expected = interface.body_symbol();
        if body.name != expected {
            return Err(Error::malformed(format!("the body is `{}`, not `{expected}`", body.name)));
        }
        let end = usize::try_from(body.size).ok().filter(|&n| n > 0 && n % 4 == 0 && n <= MAX_SECTION);
        let code = end.filter(|_| body.value == 0).and_then(|n| text.data.get(..n));
        let code = code.ok_or_else(|| {
            let (value, size) = (body.value, body.size);
            Error::malformed(format!("body at {value:#x} with {size:#x} bytes in .text of {:#x}", text.data.len()))
        })?;
        self.functions = Extents::of_body(u32::try_from(code.len()).unwrap_or(u32::MAX));
        let align = text.align.max(1);
        if !align.is_power_of_two() {
            return Err(Error::malformed(format!(".text is aligned to {align}")));
        }
        // An alignment above a cache line has no use.
        let isa = Isa::of(interface.target);
        let line = isa.facts().code_line;
        self.code_align = u32::try_from(align).unwrap_or(line).clamp(DWORD, line);
        if interface.epilog {
            // The branch to the next part directly follows the body and is not counted in its size.
            let branch = text.data.get(code.len()..).and_then(|rest| rest.first_chunk::<4>());
            if branch.is_none_or(|b| u32::from_le_bytes(*b) & 0xffff_0000 != isa.words.branch) {
                return Err(Error::malformed("the body goes on into an epilog, and no s_branch follows it"));
            }
        }
        Ok((fallible::copy(code)?, interface.epilog))
    }

    /// Reads the constant data, and records where each section was put.
    fn data(&mut self) -> Result<Vec<DataSection>> {
        let mut data = Vec::new();
        self.homes.reserve_exact(self.elf.sections.len());
        for (index, section) in (0u32..).zip(&self.elf.sections) {
            let kept = if index == self.text {
                Kept::Code
            } else if section.is_uploaded() {
                data.push(constant_data(section).at(|| section.name)?);
                Kept::Data(data.len() - 1)
            } else {
                Kept::Dropped
            };
            self.homes.push(kept);
        }
        Ok(data)
    }

    fn relocations(&self, data: &[DataSection], joint: bool) -> Result<Relocations> {
        let Relocations { mut patches, mut loads, mut targets, mut removals, mut calls } = Relocations::default();
        let (mut known, mut joined) = (BTreeMap::new(), false);
        for section in &self.elf.sections {
            let patched = match self.homes.get(section.info as usize) {
                Some(Kept::Code) => Patched::Code,
                Some(Kept::Data(index)) => Patched::Data(*index),
                _ => continue,
            };
            match section.kind {
                sht::REL => {}
                sht::RELA => return Err(Error::unsupported("relocations with addends", section.name)),
                _ => continue,
            }
            let len = match patched {
                Patched::Code => self.functions.end(),
                Patched::Data(index) => data.get(index).map_or(0, |d| d.bytes.len() as u32),
            };
            let rels = section.rels()?;
            if patched == Patched::Code {
                // Nearly all are patches.
                patches.reserve_exact(rels.len());
            }
            for rel in rels {
                let symbol = self.elf.symbol(rel.symbol).ok_or_else(|| {
                    Error::malformed(format!("{}: no symbol with number {}", section.name, rel.symbol))
                })?;
                let name = if symbol.name.is_empty() { "a section" } else { symbol.name };
                let at = || format!("relocation at {:#x} for `{name}`", rel.offset);
                let kind = RelocKind::from_number(rel.kind).at(at)?;
                let offset = u32::try_from(rel.offset).unwrap_or(u32::MAX);
                if joint && patched == Patched::Code && offset == self.functions.body_end() {
                    self.check_joint(kind, symbol).at(at)?;
                    joined = true;
                    continue;
                }
                if offset.checked_add(kind.bytes()).is_none_or(|end| end > len) {
                    return Err(Error::malformed(format!("outside its {len:#x} bytes"))).at(at);
                }
                if patched == Patched::Code {
                    let place = self.functions.at(offset, kind.bytes());
                    let place = place.ok_or_else(|| Error::malformed("outside of all functions")).at(at)?;
                    // Within the body, about it: no address.
                    if kind == RelocKind::Distance && place.0 == FunctionId::BODY {
                        removals.distances.push(offset);
                        continue;
                    }
                    if let Some(call) = self.functions.call(self.text, symbol, place, kind).at(at)? {
                        calls.push(call);
                        continue;
                    }
                    if place.0 != FunctionId::BODY {
                        let what = "a value of the link, or constant data, in a function besides the body";
                        return Err(Error::unsupported(what, name)).at(at);
                    }
                }
                match self.target(symbol).at(at)? {
                    Some(_) if !kind.is_loaded() => {
                        return Err(Error::malformed(format!("{kind} for an address"))).at(at);
                    }
                    Some(place) => {
                        let target = *known.entry(place).or_insert(targets.len());
                        if target == targets.len() {
                            targets.push(place);
                        }
                        loads.push(LoadReloc { patched, offset, kind, target });
                    }
                    None if kind == RelocKind::Join && patched == Patched::Code => removals.joins.push(offset),
                    None if kind == RelocKind::Optional && patched == Patched::Code => {
                        if LinkSymbol::parse(symbol.name) != LinkSymbol::RootBuffers {
                            return Err(Error::malformed(format!("{kind} for it"))).at(at);
                        }
                        removals.optional.push(offset);
                    }
                    None => patches.push(self.patch(patched, offset, kind, symbol).at(at)?),
                }
            }
        }
        if joint && !joined {
            return Err(Error::malformed("the branch after the body has no relocation to dovetail.next"));
        }
        Ok(Relocations { patches, loads, targets, removals, calls })
    }

    fn check_joint(&self, kind: RelocKind, symbol: &Symbol<'_>) -> Result<()> {
        let next = symbol.home == Home::Undefined && LinkSymbol::parse(symbol.name) == LinkSymbol::Next;
        if kind != RelocKind::Rel16 || !next {
            return Err(Error::malformed(format!("a joint is {} to {}", RelocKind::Rel16, LinkSymbol::Next)));
        }
        Ok(())
    }

    /// The constant data that a symbol is in; `None`: the link supplies its value.
    fn target(&self, symbol: &Symbol<'_>) -> Result<Option<DataTarget>> {
        match symbol.home {
            Home::Undefined => Ok(None),
            Home::Reserved(index) => Err(Error::unsupported(format!("symbol section {index:#x}"), symbol.name)),
            Home::Section(index) => match self.homes.get(index as usize) {
                Some(Kept::Data(section)) => {
                    let len = self.elf.at(index).map_or(0, |s| s.data.len() as u64);
                    let offset = u32::try_from(symbol.value).ok().filter(|_| symbol.value <= len);
                    let offset = offset.ok_or_else(|| Error::malformed(format!("symbol value {:#x}", symbol.value)))?;
                    Ok(Some(DataTarget { section: *section, offset }))
                }
                Some(Kept::Code) => Err(Error::unsupported("relocation against code", symbol.name)),
                _ => Err(Error::malformed("its symbol is in no uploaded section")),
            },
        }
    }

    fn patch(&self, patched: Patched, offset: u32, kind: RelocKind, symbol: &Symbol<'_>) -> Result<Patch> {
        if patched != Patched::Code {
            return Err(Error::unsupported("link-time value in constant data", symbol.name));
        }
        if symbol.name.is_empty() {
            return Err(Error::malformed("an undefined symbol without a name"));
        }
        // Only relocations with numbers: addresses are for joints and for the loader.
        use RelocKind::{Abs32, Abs32Lo, Choice, SmemOffset, Table};
        if !matches!(kind, Abs32 | Abs32Lo | SmemOffset | Choice | Table) {
            return Err(Error::malformed(format!("{kind} for a link-time value; it takes {}", RelocKind::Abs32Lo)));
        }
        match LinkSymbol::parse(symbol.name) {
            LinkSymbol::Next => Err(Error::malformed("a joint inside the body")),
            symbol => Ok(Patch { offset, kind, symbol }),
        }
    }
}

fn constant_data(section: &Section<'_>) -> Result<DataSection> {
    let constant = section.kind == sht::PROGBITS && section.flags & (shf::WRITE | shf::EXECUTE) == 0;
    if !constant || !section.name.starts_with(".rodata") {
        return Err(Error::unsupported(format!("section {}", section.name), "only constant data can be uploaded"));
    }
    let align = u32::try_from(section.align.max(1)).ok().filter(|a| a.is_power_of_two() && *a <= 4096);
    let align = align.ok_or_else(|| Error::malformed(format!("alignment {}", section.align)))?;
    if section.data.len() > MAX_SECTION {
        return Err(Error::malformed(format!("{} bytes of constant data", section.data.len())));
    }
    // Code refers to offsets in the section, so equal constants can no longer be merged.
    let bytes = fallible::copy(section.data)?;
    Ok(DataSection { name: section.name.to_owned(), align, flags: shf::ALLOC, bytes })
}
