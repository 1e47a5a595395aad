//! Detection rate of the checker: generated code, including glue, changed randomly in one location.
//!
//! The seed is fixed, so the mutants are the same with every copy of the same LLVM. A mutant need not be wrong: a wait
//! may be redundant, a branch may target an instruction without effect, another register may hold the same value. The
//! test cannot tell these apart, so the rate is over all mutants, and the limits are below the measured values.
//! Mutations that cannot matter are avoided: a wait is changed only after an operation that it can wait for.

use crate::elfs::{Built, build_all};
use dovetail::check::check;
use dovetail::isa::instruction::{Fields, Instruction};
use dovetail::isa::{CountedAccess, Effects, Format, Isa, Register, RegisterSet, disassemble};
use dovetail::target::{Gpu, WaveSize};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;

/// Number of mutants of each kind.
const EACH: usize = 1000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n as u64) as usize
    }
}

/// An instruction in an ELF's code.
struct Site {
    /// Offset of its first word in the file.
    file: usize,
    inst: Instruction,
    effects: Effects,
    /// Stage, by its symbol: vertex, fragment or compute.
    stage: usize,
}

/// A decoded ELF.
struct Subject<'a> {
    name: &'a str,
    elf: &'a [u8],
    sites: Vec<Site>,
    /// For each stage, the registers that something writes or that the hardware may set.
    written: Vec<RegisterSet>,
}

impl<'a> Subject<'a> {
    fn new(built: &'a Built) -> Self {
        let wave = if built.name.contains("wave32") { WaveSize::W32 } else { WaveSize::W64 };
        let file = object::File::parse(&*built.elf).expect("an ELF");
        let text = file.section_by_name(".text").expect("code");
        let (start, _) = text.file_range().expect("bytes");
        let (words, _) = text.data().expect("bytes").as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
        let mut symbols: Vec<(u64, u64, &str)> =
            file.symbols().filter(|s| s.size() > 0).map(|s| (s.address(), s.size(), s.name().unwrap_or(""))).collect();
        symbols.retain(|(_, _, name)| !name.starts_with('.'));
        symbols.sort_unstable();
        let (mut sites, mut written) = (Vec::new(), vec![RegisterSet::EMPTY; 3]);
        for (n, (address, size, name)) in symbols.iter().enumerate() {
            let next = symbols.iter().skip(n + 1).map(|s| s.0).find(|a| a > address).unwrap_or(u64::MAX);
            let (mut at, end) = (*address as usize / 4, (address + size).min(next) as usize / 4);
            let stage = match *name {
                name if name.contains("_vs_") || name == "dovetail_param_export" => 0,
                name if name.contains("_cs_") => 2,
                _ => 1,
            };
            while at < end {
                let inst = disassemble(Isa::of(Gpu::Gfx1030), &words[at..]).expect("an instruction");
                let effects = inst.effects(wave);
                written[stage] = written[stage].union(&effects.writes);
                let file = start as usize + 4 * at;
                at += usize::from(inst.dwords());
                sites.push(Site { file, inst, effects, stage });
            }
        }
        // Upper bounds of the registers that each stage receives at entry.
        for (set, (sgprs, vgprs)) in written.iter_mut().zip([(34, 4), (34, 24), (21, 3)]) {
            (0..sgprs).for_each(|s| set.insert(Register::sgpr(s)));
            (0..vgprs).for_each(|v| set.insert(Register::vgpr(v)));
        }
        Self { name: &built.name, elf: &built.elf, sites, written }
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.elf[at..at + 4].try_into().expect("a word"))
    }

    fn with_word(&self, at: usize, word: u32) -> Vec<u8> {
        let mut elf = self.elf.to_vec();
        elf[at..at + 4].copy_from_slice(&word.to_le_bytes());
        elf
    }

    /// Whether an operation on this counter precedes a wait, with no other wait for it and no branch in between.
    fn waits_for(&self, index: usize, counts: impl Fn(&Site) -> bool, waits: impl Fn(u16) -> bool) -> bool {
        for site in self.sites[..index].iter().rev() {
            let name = site.inst.entry.mnemonic;
            let settled = name == "s_waitcnt" && immediate(&site.inst).is_some_and(&waits);
            if settled || name.starts_with("s_cbranch") || matches!(name, "s_branch" | "s_endpgm") {
                return false;
            }
            if counts(site) {
                return true;
            }
        }
        false
    }
}

fn immediate(inst: &Instruction) -> Option<u16> {
    match &inst.fields {
        Fields::Scalar(f) => Some(f.imm),
        _ => None,
    }
}

/// The three counts of `s_waitcnt`.
fn counts(imm: u16) -> [u16; 3] {
    [imm & 15 | imm >> 14 << 4, imm >> 4 & 7, imm >> 8 & 63]
}

fn with_counts([vm, exp, lgkm]: [u16; 3]) -> u16 {
    vm & 15 | vm >> 4 << 14 | exp << 4 | lgkm << 8
}

const MOST: [u16; 3] = [63, 7, 63];

fn uses_counter(site: &Site, counter: usize) -> bool {
    matches!(
        (counter, site.effects.access),
        (0, CountedAccess::VectorLoad(_) | CountedAccess::FlatLoad)
            | (1, CountedAccess::Export(_))
            | (
                2,
                CountedAccess::ScalarMemory | CountedAccess::Lds | CountedAccess::FlatLoad | CountedAccess::FlatStore
            )
    )
}

/// A register field: word of the instruction, lowest bit, width, and the operand code of register 0.
type OperandField = (usize, u32, u32, u32);

const S: u32 = 0;
const V: u32 = 256;

/// Fields of source registers.
fn sources(site: &Site) -> &'static [OperandField] {
    match (site.inst.entry.format, site.inst.dwords()) {
        (Format::Vop1 | Format::Vopc, 1) => &[(0, 0, 9, S)],
        (Format::Vop2, 1) => &[(0, 0, 9, S), (0, 9, 8, V)],
        (Format::Vop3 | Format::Vop3p, 2) => &[(1, 0, 9, S), (1, 9, 9, S), (1, 18, 9, S)],
        (Format::Exp | Format::Mubuf | Format::Global, _) => &[(1, 0, 8, V), (1, 8, 8, V)],
        (Format::Sop2 | Format::Sopc, 1) => &[(0, 0, 8, S), (0, 8, 8, S)],
        (Format::Sop1, 1) => &[(0, 0, 8, S)],
        _ => &[],
    }
}

/// Fields of the destination register.
fn destinations(site: &Site) -> &'static [OperandField] {
    match site.inst.entry.format {
        Format::Vop1 | Format::Vop2 => &[(0, 17, 8, V)],
        Format::Vop3 | Format::Vop3p => &[(0, 0, 8, V)],
        Format::Mubuf | Format::Mimg => &[(1, 8, 8, V)],
        Format::Global | Format::Ds => &[(1, 24, 8, V)],
        Format::Sop2 | Format::Sop1 => &[(0, 16, 7, S)],
        Format::Smem => &[(0, 6, 7, S)],
        _ => &[],
    }
}

impl Subject<'_> {
    /// The general register of this set that a field names, if any.
    fn named(&self, site: &Site, place: OperandField, among: &RegisterSet) -> Option<Register> {
        let (word, low, width, base) = place;
        let code = (self.word(site.file + 4 * word) >> low & ((1 << width) - 1)) + base;
        among.iter().find(|r| u32::from(r.index()) == code && (r.as_vgpr().is_some() || r.as_sgpr().is_some()))
    }

    fn renamed(&self, site: &Site, (word, low, width, base): OperandField, to: Register) -> Vec<u8> {
        let at = site.file + 4 * word;
        let field = u32::from(to.index()) - base;
        self.with_word(at, self.word(at) & !(((1 << width) - 1) << low) | field << low)
    }

    /// The ELF with the VGPR count in its metadata lowered by one granule, for one stage.
    fn with_fewer_registers(&self, stage: usize) -> Option<Vec<u8>> {
        let file = object::File::parse(self.elf).expect("an ELF");
        let (start, size) = file.section_by_name(".note").expect("notes").file_range().expect("bytes");
        let (rsrc1, key) = [(0x2C4Au16, ".vs"), (0x2C0A, ".ps"), (0x2E12, ".cs")][stage];
        let granule = if self.name.contains("wave32") { 8 } else { 4 };
        let mut elf = self.elf.to_vec();
        let notes = &mut elf[start as usize..(start + size) as usize];
        let text = |text: &str| [&[0xa0 | text.len() as u8][..], text.as_bytes()].concat();
        let after = |notes: &[u8], from: usize, key: &[u8]| {
            let found = notes[from..].windows(key.len()).position(|window| window == key);
            found.map(|at| from + at + key.len())
        };
        let [high, low] = rsrc1.to_be_bytes();
        let word = after(notes, 0, &[0xcd, high, low]).or_else(|| after(notes, 0, &[0xce, 0, 0, high, low]));
        let lowered = lower(notes, word.expect("RSRC1"), |word| (word & 63).checked_sub(1).map(|_| word - 1));
        let stage = after(notes, 0, &text(key)).expect("the stage");
        let count = after(notes, stage, &text(".vgpr_count")).expect("a count");
        lower(notes, count, |n| Some(n.saturating_sub(granule).max(1)));
        lowered.then_some(elf)
    }
}

/// Lowers the MessagePack number at an offset in place; false if that is impossible.
fn lower(bytes: &mut [u8], at: usize, to: impl Fn(u64) -> Option<u64>) -> bool {
    let (first, width) = match bytes[at] {
        0..0x80 => (at, 1),
        marker @ 0xcc..=0xcf => (at + 1, 1 << (marker - 0xcc)),
        marker => panic!("no number but {marker:#x}"),
    };
    let number = &mut bytes[first..first + width];
    let Some(new) = to(number.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))) else { return false };
    number.copy_from_slice(&new.to_be_bytes()[8 - width..]);
    true
}

/// A mutation of an instruction; `None` if it does not apply.
type Mutation = fn(&Subject<'_>, usize, &mut Random) -> Option<Vec<u8>>;

/// Name, mutation, and how many of [`EACH`] must be detected.
const KINDS: [(&str, Mutation, usize); 10] = [
    ("wait removed", wait_removed, 950),
    ("wait weakened", wait_weakened, 900),
    // All except copies of unwritten registers, which are checked at their use: 993 to 997, depending on the code.
    ("source never written", source_swapped, 980),
    ("destination changed", destination_changed, 550),
    // About half of the branches, depending on the code: 669 and 537 of LLVM's, 563 and 660 of the native generator's.
    ("branch one further", |s, i, _| branch_moved(s, i, 1), 500),
    ("branch one short", |s, i, _| branch_moved(s, i, -1), 475),
    ("done bit dropped", done_dropped, 1000),
    ("s_endpgm removed", end_removed, 975),
    ("fewer registers declared", |s, i, _| (i % 97 == 0).then(|| s.with_fewer_registers(s.sites[i].stage))?, 1000),
    ("bit flipped", bit_flipped, 425),
];

fn name(s: &Subject<'_>, index: usize) -> &'static str {
    s.sites[index].inst.entry.mnemonic
}

/// The counters for which a wait here certainly has something to wait for.
fn busy(s: &Subject<'_>, index: usize) -> [bool; 3] {
    let imm = immediate(&s.sites[index].inst).unwrap_or(0);
    [0, 1, 2].map(|n| {
        let waits = |imm: u16| counts(imm)[n] != MOST[n];
        waits(imm) && s.waits_for(index, |site| uses_counter(site, n), waits)
    })
}

fn wait_removed(s: &Subject<'_>, index: usize, _: &mut Random) -> Option<Vec<u8>> {
    let wait = name(s, index) == "s_waitcnt" && busy(s, index).contains(&true);
    wait.then(|| s.with_word(s.sites[index].file, 0xbf80_0000))
}

fn wait_weakened(s: &Subject<'_>, index: usize, _: &mut Random) -> Option<Vec<u8>> {
    if name(s, index) != "s_waitcnt" {
        return None;
    }
    let old = counts(immediate(&s.sites[index].inst)?);
    let busy = busy(s, index);
    let n = (0..3).find(|n| busy[*n])?;
    let mut new = old;
    new[n] += 1;
    Some(s.with_word(s.sites[index].file, 0xbf8c_0000 | u32::from(with_counts(new))))
}

fn source_swapped(s: &Subject<'_>, index: usize, random: &mut Random) -> Option<Vec<u8>> {
    let site = &s.sites[index];
    let places: Vec<(OperandField, Register)> =
        sources(site).iter().filter_map(|p| Some((*p, s.named(site, *p, &site.effects.reads)?))).collect();
    let (place, old) = *places.get(random.below(places.len().max(1)))?;
    let written = &s.written[site.stage];
    let free = |r: &Register| !written.contains(*r);
    let new = match old.as_vgpr() {
        Some(_) => (0..=u8::MAX).map(Register::vgpr).find(free)?,
        None => (0..106).map(Register::sgpr).find(free)?,
    };
    Some(s.renamed(site, place, new))
}

fn destination_changed(s: &Subject<'_>, index: usize, random: &mut Random) -> Option<Vec<u8>> {
    let site = &s.sites[index];
    let place = *destinations(site).first()?;
    let old = s.named(site, place, &site.effects.writes)?;
    // Another of the registers that the stage uses.
    let used = &s.written[site.stage];
    let same = |r: &Register| r.as_vgpr().is_some() == old.as_vgpr().is_some() && *r != old;
    let general = |r: &Register| r.as_vgpr().is_some() || r.as_sgpr().is_some();
    let others: Vec<Register> = used.iter().filter(same).filter(general).collect();
    Some(s.renamed(site, place, others[random.below(others.len())]))
}

fn branch_moved(s: &Subject<'_>, index: usize, by: i16) -> Option<Vec<u8>> {
    let branch = name(s, index) == "s_branch" || name(s, index).starts_with("s_cbranch");
    let imm = immediate(&s.sites[index].inst).filter(|_| branch)?.wrapping_add_signed(by);
    let at = s.sites[index].file;
    Some(s.with_word(at, s.word(at) & 0xffff_0000 | u32::from(imm)))
}

fn done_dropped(s: &Subject<'_>, index: usize, _: &mut Random) -> Option<Vec<u8>> {
    let at = s.sites[index].file;
    matches!(&s.sites[index].inst.fields, Fields::Export(f) if f.done).then(|| s.with_word(at, s.word(at) & !(1 << 11)))
}

fn end_removed(s: &Subject<'_>, index: usize, _: &mut Random) -> Option<Vec<u8>> {
    (name(s, index) == "s_endpgm").then(|| s.with_word(s.sites[index].file, 0xbf80_0000))
}

fn bit_flipped(s: &Subject<'_>, index: usize, random: &mut Random) -> Option<Vec<u8>> {
    let site = &s.sites[index];
    let word = random.below(usize::from(site.inst.dwords()).min(2));
    let at = site.file + 4 * word;
    (name(s, index) != "s_nop").then(|| s.with_word(at, s.word(at) ^ 1 << random.below(32)))
}

#[test]
fn mutants_are_seen() {
    let built = build_all("mutations::mutants_are_seen", |b| {
        b.shaders()?;
        b.coverage(&[WaveSize::W32])
    });
    let Some(built) = built else { return };
    let subjects: Vec<Subject<'_>> = built.iter().map(Subject::new).collect();
    let mut random = Random(1);
    let verbose = std::env::var_os("DOVETAIL_MUTANTS").is_some();
    let mut below = Vec::new();
    for (kind, mutation, floor) in KINDS {
        let (mut made, mut seen, mut errors, mut tries) = (0, 0, 0, 0);
        let mut by: BTreeMap<String, usize> = BTreeMap::new();
        while made < EACH {
            tries += 1;
            assert!(tries < 1_000_000, "{kind}: only {made}");
            let subject = &subjects[random.below(subjects.len())];
            let index = random.below(subject.sites.len());
            let Some(mutant) = mutation(subject, index, &mut random) else { continue };
            if mutant == subject.elf {
                continue;
            }
            made += 1;
            let (rule, error) = match check(&mutant) {
                Ok(report) => (report.findings.first().map(|f| f.rule.to_string()), !report.is_ok()),
                Err(_) => (Some("refused".to_owned()), true),
            };
            errors += usize::from(error);
            seen += usize::from(rule.is_some());
            if verbose && rule.is_none() {
                let wave = if subject.name.contains("wave32") { WaveSize::W32 } else { WaveSize::W64 };
                let site = &subject.sites[index];
                eprintln!(
                    "not seen: {kind}: {} at {:#x}: {}",
                    subject.name,
                    site.file,
                    site.inst.text(Isa::of(Gpu::Gfx1030), wave)
                );
            }
            *by.entry(rule.unwrap_or_else(|| "not seen".to_owned())).or_default() += 1;
        }
        let rules: Vec<String> = by.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        eprintln!("{kind:<26} {seen:>3} of {made}, {errors:>3} by an error   {}", rules.join(", "));
        if seen < floor {
            below.push(format!("{kind}: {seen} of {made}, at least {floor}"));
        }
    }
    assert!(below.is_empty(), "{below:#?}");
}
