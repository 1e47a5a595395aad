//! Hand-made physical functions: what no code of LLVM's shows.

use super::{assemble, translate};
use crate::mir::{
    BlockId, Cond, Extra, LinkedDescriptor, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue,
    PhysReg, Pseudo, Term, Val,
};
use crate::waits;
use crate::widths::SCALAR_LOADS;
use dovetail_base::error::Result;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_ir::{Align, ConstTable, LowerInfo, Shader, ShaderLevel};
use dovetail_isa::{Isa, Op, RegisterSet, disassemble};
use dovetail_passes::backend::{DataName, MachineCode, PatchTarget};
use dovetail_passes::entry_facts::EntryFacts;
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::PartLetter;

const GFX: &Isa = Isa::of(Gpu::Gfx1030);

/// One instruction: operation, definitions, uses.
type Row = (Opcode, Vec<OperandValue>, Vec<OperandValue>, Extra);

/// A function of these blocks.
fn function(blocks: &[(&[Row], Term)]) -> MachineFunction {
    let mut out = MachineFunction::new(GFX, Stage::Compute, WaveSize::W32);
    for (rows, term) in blocks {
        let first = out.insts.len() as u32;
        for (op, defs, uses, extra) in rows.iter() {
            let operands = out.operands.len() as u32;
            out.operands.extend(defs.iter().chain(uses).map(|what| Operand::one(*what)));
            let (defs, uses) = (defs.len() as u8, uses.len() as u8);
            out.insts.push(MachineInst { op: *op, operands, defs, uses, tied: false, extra: *extra });
        }
        let insts = first..out.insts.len() as u32;
        out.blocks.push(MachineBlock {
            params: 0..0,
            tail: insts.end,
            insts,
            edges: Default::default(),
            term: *term,
            depth: 0,
        });
    }
    out
}

fn shader() -> Shader {
    let mut shader = Shader::new("main", Stage::Compute);
    shader.tables.push(ConstTable { bytes: vec![0; 3].into(), align: Align::A1 });
    shader.tables.push(ConstTable { bytes: vec![1; 8].into(), align: Align::A8 });
    for name in ["doff_0_0_b", "dusespill_0_0"] {
        shader.symbols.intern(name);
    }
    shader
}

fn emit(function: &MachineFunction) -> Result<MachineCode> {
    let mut shader = shader();
    let info = LowerInfo {
        wave: function.wave,
        args: Default::default(),
        returns: Default::default(),
        epilog: false,
        symbol: "_amdgpu_cs_main".into(),
        color_export: false,
        depth_export: false,
    };
    (shader.level, shader.lower) = (ShaderLevel::Lower, Some(info.clone()));
    let mut entry = EntryFacts::of(&shader, Gpu::Gfx1030)?;
    entry.sgprs = 5;
    let mut code = translate(function, &shader, &entry)?;
    waits::insert(&mut code, &RegisterSet::EMPTY)?;
    assemble(&code, function, &shader, &info, &entry, &Default::default())
}

fn listing(function: &MachineFunction) -> Vec<String> {
    let code = emit(function).expect("emitted").code;
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    let (mut at, mut out) = (0, Vec::new());
    while at < words.len() {
        let inst = disassemble(GFX, &words[at..]).expect("ours");
        out.push(inst.text(function.isa, function.wave));
        at += usize::from(inst.dwords());
    }
    out
}

const fn s(n: u16) -> OperandValue {
    OperandValue::Fixed(PhysReg::sgpr(n))
}

const fn v(n: u16) -> OperandValue {
    OperandValue::Fixed(PhysReg::vgpr(n))
}

fn isa(op: Op, defs: &[OperandValue], uses: &[OperandValue]) -> Row {
    (Opcode::Isa(op), defs.to_vec(), uses.to_vec(), Extra::None)
}

fn refusal(row: Row) -> String {
    emit(&function(&[(&[row], Term::End)])).expect_err("refused").to_string()
}

#[test]
fn operands_that_no_encoding_takes_are_bugs_by_name() {
    let scalars = refusal(isa(Op::VFmaF32, &[v(0)], &[s(0), s(1), s(2)]));
    assert!(scalars.contains("bug") && scalars.contains("3 scalar values"), "{scalars}");
    assert!(refusal(isa(Op::VMovB32, &[v(0)], &[OperandValue::Val(Val(7))])).contains("%7 has no register"));
    assert!(refusal(isa(Op::SMovB32, &[s(0)], &[v(3)])).contains("no place"));
    assert!(refusal(isa(Op::SMovB32, &[v(0)], &[s(3)])).contains("v0 where a scalar register"));
    assert!(refusal(isa(Op::SMovB32, &[s(0)], &[s(1), s(2)])).contains("one operand too many"));
    assert!(refusal(isa(Op::SAddU32, &[s(0)], &[s(1)])).contains("operand is missing"));
    assert!(refusal(isa(Op::SBranch, &[], &[])).contains("no block ends with"));
    assert!(refusal((Opcode::Pseudo(Pseudo::Copy), vec![v(0)], vec![v(1)], Extra::None)).contains("allocation left"));
    assert!(refusal(isa(Op::Exp, &[], &[])).contains("another format"));
}

#[test]
fn the_shortest_form_and_what_the_encoding_implies() {
    let vcc = OperandValue::Fixed(PhysReg::VCC);
    let exec = OperandValue::Fixed(PhysReg::EXEC);
    let rows = [
        isa(Op::VCmpLtF32, &[vcc], &[s(1), v(0)]),
        isa(Op::VCmpLtF32, &[s(4)], &[s(1), v(0)]),
        isa(Op::VCndmaskB32, &[v(1)], &[OperandValue::Const(0), v(2), vcc]),
        isa(Op::VCndmaskB32, &[v(1)], &[OperandValue::Const(0), v(2), s(4)]),
        isa(Op::VCmpxLtF32, &[exec], &[s(1), v(0)]),
        isa(Op::VFmaakF32, &[v(0)], &[v(1), v(2), OperandValue::Const(0x3f80_0000)]),
        isa(Op::SMovB64, &[s(2)], &[OperandValue::Const(u32::MAX)]),
    ];
    let text = listing(&function(&[(&rows, Term::End)]));
    assert_eq!(
        text,
        [
            "v_cmp_lt_f32_e32 vcc_lo, s1, v0",
            "v_cmp_lt_f32_e64 s4, s1, v0",
            "v_cndmask_b32_e32 v1, 0, v2, vcc_lo",
            "v_cndmask_b32_e64 v1, 0, v2, s4",
            "v_cmpx_lt_f32_e32 s1, v0",
            "v_fmaak_f32 v0, v1, v2, 0x3f800000",
            "s_mov_b64 s[2:3], -1",
            "s_endpgm"
        ]
    );
}

#[test]
fn branches_go_where_blocks_without_code_lead() {
    let one = [isa(Op::SNop, &[], &[])];
    let fence: [Row; 1] = [(Opcode::Pseudo(Pseudo::Fence), Vec::new(), Vec::new(), Extra::None)];
    let to = |n| Term::Jump(BlockId(n));
    let branch = |when, then, els| Term::Branch { when, then: BlockId(then), els: BlockId(els) };
    let text = listing(&function(&[
        (&one, branch(Cond::Execz, 2, 1)),
        // This block only jumps, to the block after the next.
        (&fence, to(3)),
        (&[], to(4)),
        (&one, branch(Cond::Scc1, 0, 2)),
        (&one, Term::End),
        (&one, to(0)),
    ]));
    assert_eq!(text, ["s_nop 0", "s_cbranch_execz 2", "s_nop 0", "s_cbranch_scc1 65532", "s_nop 0", "s_endpgm"]);
    // Both targets are the same; the second block is unreachable.
    let text = listing(&function(&[(&one, branch(Cond::Scc0, 2, 2)), (&one, Term::End), (&one, Term::End)]));
    assert_eq!(text, ["s_nop 0", "s_nop 0", "s_endpgm"]);
}

/// An instruction that the code of a test has once.
fn mark(n: u16) -> Row {
    isa(Op::SMovB32, &[s(n)], &[s(0)])
}

/// Code with marks.
struct Marked(Vec<u32>);

impl Marked {
    fn new(function: &MachineFunction) -> Self {
        let code = emit(function).expect("branches that reach").code;
        Self(code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// The dword of a mark.
    fn at(&self, n: u32) -> usize {
        self.0.iter().position(|word| *word == (0xbe80_0300 | n << 16)).expect("the mark")
    }

    /// Where a branch at a dword leads, through other branches.
    fn target(&self, at: usize) -> usize {
        self.leads_to(self.next(at))
    }

    fn next(&self, at: usize) -> usize {
        (at as i64 + 1 + i64::from(self.0[at] as u16 as i16)) as usize
    }

    /// The first instruction from a dword on that is not a branch.
    fn leads_to(&self, mut at: usize) -> usize {
        while disassemble(Isa::of(Gpu::Gfx1030), &self.0[at..]).expect("an instruction").entry.op == Op::SBranch {
            at = self.next(at);
        }
        at
    }

    /// Number of instructions of one dword, branches aside, that execution passes from a dword to a mark.
    fn steps(&self, mut at: usize, mark: u32) -> usize {
        let (end, mut steps) = (self.at(mark), 0);
        while self.leads_to(at) != end {
            at = self.leads_to(at) + 1;
            steps += 1;
        }
        steps
    }
}

#[test]
fn branches_over_more_than_sixteen_bits_go_by_islands() {
    let to = |n| Term::Jump(BlockId(n));
    let long = vec![isa(Op::SNop, &[], &[]); 3_000];
    // Forwards over 60,000 dwords, and back over as many.
    let [first, last, done] = [7, 8, 9].map(|n| [mark(n)]);
    let mut rows: Vec<(&[Row], Term)> =
        vec![(&first, Term::Branch { when: Cond::Scc1, then: BlockId(22), els: BlockId(1) })];
    (1..=20).for_each(|n| rows.push((&long, to(n + 1))));
    rows.push((&done, Term::End));
    rows.push((&last, Term::Branch { when: Cond::Scc0, then: BlockId(0), els: BlockId(21) }));
    let code = Marked::new(&function(&rows));
    assert_eq!(code.target(code.at(7) + 1), code.at(8));
    assert_eq!(code.target(code.at(8) + 1), code.at(7));
    // Execution that falls through goes around the islands.
    assert_eq!(code.steps(code.at(7) + 2, 9), 60_000);
}

/// A block of more dwords than a branch counts is cut, and what its pieces are made of stays in order.
#[test]
fn branches_over_a_long_block_go_by_islands_within_it() {
    let [first, last] = [7, 8].map(|n| [mark(n)]);
    let long = vec![isa(Op::SNop, &[], &[]); 70_000];
    let branch = |when, then, els| Term::Branch { when, then: BlockId(then), els: BlockId(els) };
    let code = Marked::new(&function(&[
        (&first, branch(Cond::Scc1, 2, 1)),
        (&long, Term::Jump(BlockId(2))),
        (&last, branch(Cond::Scc0, 0, 3)),
        (&[], Term::End),
    ]));
    assert_eq!(code.target(code.at(7) + 1), code.at(8));
    assert_eq!(code.target(code.at(8) + 1), code.at(7));
    assert_eq!(code.steps(code.at(7) + 2, 8), 70_000);
}

#[test]
fn tables_are_addressed_by_two_literals_and_only_those_in_use_are_kept() {
    let table = |n| (Opcode::Pseudo(Pseudo::TableAddress), vec![s(2), s(3)], Vec::new(), Extra::Table(n));
    let code = emit(&function(&[(&[table(1), table(0), table(1)], Term::End)])).expect("emitted");
    let patches: Vec<_> = code.patches.iter().map(|p| (p.offset, p.kind, p.target.clone())).collect();
    let pair = |at, table| {
        [(at, RelocKind::Abs32Lo, PatchTarget::Table(table)), (at + 8, RelocKind::Abs32Hi, PatchTarget::Table(table))]
    };
    assert_eq!(patches, [pair(4, 0), pair(20, 1), pair(36, 0)].concat());
    let places: Vec<_> = code.tables.iter().map(|t| (t.name.clone(), t.start, t.size)).collect();
    assert_eq!(places, [(DataName::Table(1), 0, 8), (DataName::Table(0), 8, 3)]);
    assert_eq!((code.constants.len(), code.constants[0].align, code.constants[0].bytes.len()), (1, 8, 11));
    let none = emit(&function(&[(&[table(2)], Term::End)]));
    assert!(none.expect_err("no such table").to_string().contains("no constant table 2"));
}

#[test]
fn scratch_memory_has_its_descriptor() {
    let mut scratch = function(&[(&[], Term::End)]);
    scratch.scratch_bytes = 20;
    let text = listing(&scratch);
    assert_eq!(
        text,
        [
            "s_getpc_b64 s[100:101]",
            "s_mov_b32 s100, s0",
            "s_load_dwordx4 s[100:103], s[100:101], 0x10",
            "s_waitcnt lgkmcnt(0)",
            "s_add_u32 s100, s100, s5",
            "s_addc_u32 s101, s101, 0",
            "s_bitset0_b32 s103, 21",
            "s_endpgm"
        ]
    );
}

/// A load of descriptors of these sizes into registers from s8 on, the first perhaps from the root table.
fn linked(out: &mut MachineFunction, sizes: &[u8], root: bool) -> Row {
    let [offset, in_root] = ["doff_0_0_b", "dusespill_0_0"].map(|name| shader().symbols.intern(name));
    let first = out.descriptors.len() as u32;
    for (n, &dwords) in sizes.iter().enumerate() {
        let in_root = Some(in_root).filter(|_| root && n == 0);
        out.descriptors.push(LinkedDescriptor { order: (0, n as u32, PartLetter::Buffer), offset, in_root, dwords });
    }
    let total = sizes.iter().map(|size| u16::from(*size)).sum::<u16>();
    let op = SCALAR_LOADS.iter().find(|row| row.0 == usize::from(total)).expect("a load").1;
    let uses: Vec<OperandValue> = [s(4), s(5), s(6), s(7)].into_iter().take(if root { 4 } else { 2 }).collect();
    let extra = Extra::Descriptors { first, count: sizes.len() as u8 };
    (Opcode::Isa(op), (8..8 + total).map(s).collect(), uses, extra)
}

/// Joins the registers of scalar loads to runs: all results, and pairs of sources.
fn with_runs(mut out: MachineFunction) -> MachineFunction {
    for inst in out.insts.iter().filter(|inst| matches!(inst.extra, Extra::Descriptors { .. } | Extra::Smem { .. })) {
        let (start, defs) = (inst.operands as usize, usize::from(inst.defs));
        for n in 0..defs + usize::from(inst.uses) {
            let run = match n.checked_sub(defs) {
                None if n == 0 => inst.defs,
                Some(source) if source % 2 == 0 => 2,
                _ => 0,
            };
            out.operands[start + n].run = run;
        }
    }
    out
}

fn patches_of(function: &MachineFunction) -> Vec<(u32, RelocKind)> {
    emit(function).expect("emitted").patches.iter().map(|patch| (patch.offset, patch.kind)).collect()
}

#[test]
fn what_the_linker_may_remove_is_listed_with_every_branch_across_it() {
    let to = |n| Term::Jump(BlockId(n));
    let branch = |when, then, els| Term::Branch { when, then: BlockId(then), els: BlockId(els) };
    let one = [isa(Op::SNop, &[], &[])];
    let moved = [(Opcode::Isa(Op::SMovB32), vec![s(7)], vec![s(1)], Extra::ForRootBuffers)];
    let mut descriptors = function(&[]);
    let several = [linked(&mut descriptors, &[4, 8, 4], true)];
    let alone = [linked(&mut descriptors, &[4], false)];
    let mut f = with_runs(function(&[
        (&one, to(1)),
        // A loop that begins with what may be removed.
        (&moved, branch(Cond::Scc1, 1, 2)),
        (&one, branch(Cond::Scc0, 4, 3)),
        (&several, to(4)),
        (&one, branch(Cond::Scc1, 4, 5)),
        (&alone, branch(Cond::Scc0, 5, 6)),
        (&[], Term::End),
    ]));
    f.descriptors = descriptors.descriptors;
    let text = listing(&f);
    assert_eq!(
        text,
        [
            "s_nop 0",
            "s_mov_b32 s7, s1",
            "s_cbranch_scc1 65534",
            "s_nop 0",
            "s_cbranch_scc0 6",
            "s_load_dwordx4 s[8:11], s[4:5], s6",
            "s_load_dwordx8 s[12:19], s[4:5], null",
            "s_load_dwordx4 s[20:23], s[4:5], null",
            "s_nop 0",
            "s_cbranch_scc1 65534",
            "s_waitcnt lgkmcnt(0)",
            "s_load_dwordx4 s[8:11], s[4:5], null",
            "s_cbranch_scc0 65532",
            "s_endpgm"
        ]
    );
    use RelocKind::{Distance, Join, Optional, SmemOffset, Table};
    let expected = [
        (4, Optional),
        (8, Distance),
        (16, Distance),
        (20, Table),
        (24, SmemOffset),
        (28, Join),
        (32, SmemOffset),
        (36, Join),
        (40, SmemOffset),
        (60, SmemOffset),
    ];
    assert_eq!(patches_of(&f), expected);
}

#[test]
fn loads_that_a_wait_separates_are_not_merged() {
    let mut descriptors = function(&[]);
    let several = linked(&mut descriptors, &[4, 4], false);
    let smem = Extra::Smem { offset: 16, cache: Default::default() };
    let before = (Opcode::Isa(Op::SLoadDword), vec![s(12)], vec![s(4), s(5)], smem);
    let mut f = with_runs(function(&[(&[before, several], Term::End)]));
    f.descriptors = descriptors.descriptors;
    let text = listing(&f);
    assert!(text[2].starts_with("s_waitcnt lgkmcnt(0)"), "{text:?}");
    assert_eq!(patches_of(&f), [(12, RelocKind::SmemOffset), (24, RelocKind::SmemOffset)]);
}
