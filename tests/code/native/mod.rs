//! Tests emission and waits of the native generator on LLVM's code, the only code that uses every feature.
//!
//! LLVM's code is lifted into the machine IR and emitted again. Unchanged, it must give the same bytes, except for the
//! encodings of instructions; with its waits removed, it must get waits that the code checker accepts. The native
//! generator's own code must have LLVM's register words, and no errors.

mod claims;
mod lift;

use crate::elfs::{Builder, Built, build_with};
use dovetail::check::check;
use dovetail::compile::backend::{Generator, MachineCode};
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::entry_facts::EntryFacts;
use dovetail::compile::llvm::Llvm;
use dovetail::compile::native::entry::enter;
use dovetail::compile::native::mir::MachineFunction;
use dovetail::compile::native::{Native, emit, waits};
use dovetail::compile::passes::LoweredShader;
use dovetail::compile::request::TuningOptions;
use dovetail::error::{Error, ErrorKind, Result};
use dovetail::ir::watch::{Unwatched, Watch};
use dovetail::isa::instruction::{Fields, Instruction, VectorForm};
use dovetail::isa::{Isa, Op, RegisterSet, Traits, disassemble};
use dovetail::metadata::interface::StageInterface;
use dovetail::metadata::registers::{SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA, StageRegisters};
use dovetail::metadata::schema::MetadataKey;
use dovetail::target::Gpu;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Counts of observations, by name.
type Seen = Arc<Mutex<BTreeMap<String, usize>>>;

/// LLVM's code, emitted by the native emitter.
struct Relifted {
    /// Remove LLVM's waits, and insert our own.
    waits: bool,
    seen: Seen,
}

impl Generator for Relifted {
    fn name(&self) -> String {
        format!("relifted {}", self.waits)
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        _: &mut dyn Watch,
    ) -> Result<MachineCode> {
        let theirs = Llvm.generate(shader.clone(), interface, options, &mut Unwatched)?;
        let note = |what: String| *self.seen.lock().expect("no panic").entry(what).or_default() += 1;
        let mut shader = shader.into_inner();
        let symbol = shader.symbols.intern("of.a.test");
        let info = shader.lower.clone().expect("lowered");
        let entry = EntryFacts::of(&shader, Gpu::Gfx1030)?;
        let mut function = MachineFunction::new(Isa::of(interface.target), shader.stage, info.wave);
        enter(&mut function, &entry, &info.args, &vec![false; info.args.len()]);
        let keep = |inst: &Instruction| !self.waits || !is_wait(inst);
        if let Err(why) = lift::lift(&mut function, &theirs, symbol, keep) {
            note(format!("not lifted: {why}"));
            return Ok(theirs);
        }
        // LLVM's code sets the rounding mode itself.
        let mut plain = shader.clone();
        plain.modes.round = Default::default();
        let mut code = emit::translate(&function, &plain, &entry)?;
        if self.waits {
            // A prolog waits for its loads before LLVM's code.
            waits::insert(&mut code, &RegisterSet::EMPTY)?;
        }
        let mut ours = emit::assemble(&code, &function, &shader, &info, &entry, options)?;
        if !self.waits {
            compare_code(interface, &theirs, &ours)?;
        }
        note("lifted".to_owned());
        words(interface, &theirs, &ours, &note);
        // Relocated values come in the order of the code.
        assert_eq!(ours.patches.len(), theirs.patches.len());
        for (own, other) in ours.patches.iter_mut().zip(&theirs.patches) {
            (own.kind, own.target) = (other.kind, other.target.clone());
        }
        (ours.tables, ours.constants, ours.results) = (theirs.tables, theirs.constants, theirs.results);
        if theirs.counts[&MetadataKey::ScratchMemorySize] > 0 {
            (ours.counts, ours.registers) = (theirs.counts, theirs.registers);
        }
        Ok(ours)
    }
}

fn is_wait(inst: &Instruction) -> bool {
    inst.entry.is(Traits::WAITS) || matches!(inst.entry.op, Op::SClause | Op::SNop | Op::SInstPrefetch)
}

/// Checks for the same instructions in the same order, in any encoding; branches on VCC may differ.
fn compare_code(interface: &StageInterface, theirs: &MachineCode, ours: &MachineCode) -> Result<()> {
    let [theirs, ours] = [theirs, ours].map(|code| {
        let words: Vec<u32> = code.code.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
        let mut rest = words.as_slice();
        let mut out = Vec::new();
        while !rest.is_empty() {
            let mut inst = disassemble(Isa::of(interface.target), rest).expect("an instruction");
            rest = &rest[usize::from(inst.dwords())..];
            let branches = inst.entry.is(Traits::BRANCH.or(Traits::VCC_IN)) || is_vcc_compare(&inst);
            if let Fields::Vector(f) = &mut inst.fields
                && f.form == VectorForm::Short
            {
                f.form = VectorForm::Long;
            }
            if !branches && inst.entry.op != Op::SNop {
                out.push(inst.text(Isa::of(Gpu::Gfx1030), interface.wave));
            }
        }
        out
    });
    let differ = theirs.iter().zip(&ours).position(|(a, b)| a != b);
    match differ {
        Some(n) => Err(Error::bug(format!("instruction {n}: `{}` became `{}`", theirs[n], ours[n]))),
        None if theirs.len() != ours.len() => {
            Err(Error::bug(format!("{} instructions became {}", theirs.len(), ours.len())))
        }
        None => Ok(()),
    }
}

fn is_vcc_compare(inst: &Instruction) -> bool {
    let text = inst.text(Isa::of(Gpu::Gfx1030), dovetail::target::WaveSize::W64);
    text.starts_with("s_cmp_lg_u") && text.contains("vcc")
}

/// Native code, whose register words are compared with LLVM's.
struct Compared {
    seen: Seen,
}

impl Generator for Compared {
    fn name(&self) -> String {
        "compared".to_owned()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        let note = |what: String| *self.seen.lock().expect("no panic").entry(what).or_default() += 1;
        let theirs = Llvm.generate(shader.clone(), interface, options, &mut Unwatched)?;
        let ours = match Native.generate(shader, interface, options, watch) {
            Ok(ours) => ours,
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {
                note("not lifted: unsupported".to_owned());
                return Ok(theirs);
            }
            Err(e) => return Err(e),
        };
        note("lifted".to_owned());
        words(interface, &theirs, &ours, &note);
        Ok(ours)
    }
}

/// Compares the register words except register counts, and records each difference. Whether there is scratch memory
/// depends on the generator, because one may keep in registers a variable that the other puts into memory.
fn words(interface: &StageInterface, theirs: &MachineCode, ours: &MachineCode, note: &dyn Fn(String)) {
    let own = StageRegisters::of(interface.hardware_stage()).expect("its registers");
    let mut wanted = theirs.registers;
    for field in [own.vgprs, own.sgprs] {
        wanted.set_field(field, ours.registers.field(field)).expect("a field");
    }
    wanted.set_field(own.scratch_en, ours.registers.field(own.scratch_en)).expect("a field");
    for (register, word) in wanted.iter() {
        let given = ours.registers.get(register);
        if given != Some(word) {
            let inputs = register == SPI_PS_INPUT_ENA || register == SPI_PS_INPUT_ADDR;
            // LLVM eliminates more code than lowering does.
            let kind = if inputs && given.is_some_and(|given| given & word == word) { "more inputs" } else { "word" };
            note(format!("{kind} {} of {}: {word:#x}, {given:x?}", register.name(), interface.entry_point));
        }
    }
    for (register, _) in ours.registers.iter().filter(|(register, _)| wanted.get(*register).is_none()) {
        note(format!("word {} is not LLVM's", register.name()));
    }
    let keys = |code: &MachineCode| code.counts.iter().map(|(key, _)| key).collect::<Vec<_>>();
    if keys(theirs) != keys(ours) {
        note(format!("word: {:?} {:?}", keys(theirs), keys(ours)));
    }
}

fn relift(
    test: &'static str,
    waits: bool,
    f: impl FnOnce(&mut Builder<'_>) -> Option<()>,
) -> Option<(Vec<Built>, BTreeMap<String, usize>)> {
    let seen = Seen::default();
    let compiler = StageCompiler::with(Relifted { waits, seen: seen.clone() });
    let built = build_with(test, &compiler, f)?;
    let seen = std::mem::take(&mut *seen.lock().expect("no panic"));
    Some((built, seen))
}

#[track_caller]
fn judge(seen: &BTreeMap<String, usize>) {
    let lifted = seen.get("lifted").copied().unwrap_or(0);
    let others: usize = seen.iter().filter(|(what, _)| what.starts_with("not lifted")).map(|(_, n)| n).sum();
    assert!(lifted > 50 && others * 7 < lifted, "{seen:#?}");
    let words: Vec<_> = seen.keys().filter(|what| what.starts_with("word")).collect();
    assert!(words.is_empty(), "{words:#?}");
}

#[test]
fn llvms_code_comes_out_as_it_was_and_with_its_register_words() {
    let name = "llvms_code_comes_out_as_it_was_and_with_its_register_words";
    let all = |b: &mut Builder<'_>| {
        b.shaders()?;
        b.right()
    };
    let Some((_, seen)) = relift(name, false, all) else { return };
    judge(&seen);
}

#[test]
fn register_words_of_our_code_are_llvms() {
    let seen = Seen::default();
    let compiler = StageCompiler::with(Compared { seen: seen.clone() });
    let all = |b: &mut Builder<'_>| {
        b.shaders()?;
        b.right()
    };
    let Some(built) = build_with("register_words_of_our_code_are_llvms", &compiler, all) else { return };
    judge(&seen.lock().expect("no panic"));
    are_right(&built);
}

#[test]
fn waits_of_ours_in_llvms_code_are_enough() {
    let name = "waits_of_ours_in_llvms_code_are_enough";
    let all = |b: &mut Builder<'_>| {
        b.shaders()?;
        b.right()
    };
    let Some((built, seen)) = relift(name, true, all) else { return };
    judge(&seen);
    are_right(&built);
}

/// Checks that the code checker finds no error.
#[track_caller]
fn are_right(built: &[Built]) {
    for one in built {
        let report = check(&one.elf).expect("an ELF with code");
        let errors: Vec<String> = report.errors().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", one.name);
    }
}
