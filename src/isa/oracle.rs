//! Encoder, printer and decoder against each other and against `llvm-mc`, over every instruction and edge operand.

use super::*;
use crate::target::{GfxIp, WaveSize};

#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;

const GFX: GfxIp = GfxIp::Gfx1030;

/// Runs `llvm-mc-19` on `input`; `None` where the tool is missing, and the skip of `test` is noted.
fn llvm_mc(test: &str, args: &[&str], input: &str) -> Option<String> {
    let target = ["-arch=amdgcn", "-mcpu=gfx1030"];
    let args: Vec<&str> = target.iter().chain(args).copied().collect();
    let output = support::tool(test, "llvm-mc-19")?.run(&args, input.as_bytes());
    Some(String::from_utf8(output).expect("text"))
}

/// The disassembler's text of each instruction of `code`.
pub(crate) fn disassemble(test: &str, wave: WaveSize, code: &[u8]) -> Option<Vec<String>> {
    let bytes: Vec<String> = code.iter().map(|b| format!("{b:#04x}")).collect();
    let attributes = format!("-mattr=+wavefrontsize{}", wave.lanes());
    let text = llvm_mc(test, &["--disassemble", &attributes], &bytes.join(" "))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.'));
    Some(lines.map(|line| line.split(" ;").next().unwrap_or("").trim().to_owned()).collect())
}

fn sgpr(n: u8) -> Sgpr {
    Sgpr::new(n).expect("in range")
}

fn scalar_sources() -> Vec<Src> {
    let codes = (0..=105).step_by(35).chain([106, 107, 124, 125, 126, 127, 128, 129, 192, 193, 208]);
    let codes = codes.chain(235..=239).chain(240..=248).chain(251..=253);
    let mut all: Vec<Src> = codes.filter_map(|code| Src::from_code(code, None)).collect();
    all.extend([65, 0x1234_5678, 0xffff_ffef, 0x8000_0000, 0x7f80_0000].map(Src::Literal));
    all
}

fn vector_sources() -> Vec<Src> {
    // 64-bit apertures as a 32-bit vector source print alike but mean the high half only; scalar code covers them.
    let mut all: Vec<Src> = scalar_sources();
    all.extend([0, 1, 127, 128, 255].map(|v| Src::Vgpr(Vgpr(v))));
    all
}

fn samples(op: Op) -> Vec<Inst> {
    let dsts = [0, 7, 255].map(Vgpr);
    let named = [Scalar::VccLo, Scalar::VccHi, Scalar::M0, Scalar::ExecLo, Scalar::ExecHi];
    let scalars: Vec<Scalar> = [0, 33, 105].map(|n| Scalar::Sgpr(sgpr(n))).into_iter().chain(named).collect();
    let [small, other] = [Src::Int(0), Src::Vgpr(Vgpr(9))];
    let mut all = Vec::new();
    match op.format() {
        Format::Sopp if op == Op::SWaitcnt => {
            for (vm, exp, lgkm) in
                [(0, 0, 0), (63, 7, 63), (15, 7, 63), (16, 3, 5), (63, 0, 63), (63, 7, 0), (0, 7, 63)]
            {
                all.push(Inst::Waitcnt(Waitcnt { vm, exp, lgkm }));
            }
        }
        Format::Sopp => {
            let operands: &[u16] = match op {
                Op::SNop => &[0, 1, 7, 64, 65, 0xffff],
                Op::SBranch => &[0, 5, 0x7fff, 0x8000, 0xffff],
                _ => &[0],
            };
            all.extend(operands.iter().map(|&imm| Inst::Sopp { op, imm }));
        }
        Format::Sop1 if op.sources() == 0 => {
            let pairs = [0, 40, 104].map(|n| Scalar::Sgpr(sgpr(n)));
            let pairs = pairs.into_iter().chain([Scalar::VccLo, Scalar::ExecLo]);
            all.extend(pairs.map(|dst| Inst::Sop1 { op, dst, src: None }));
        }
        Format::Sop1 => {
            all.extend(scalars.iter().map(|&dst| Inst::Sop1 { op, dst, src: Some(small) }));
            let dst = Scalar::Sgpr(sgpr(40));
            all.extend(scalar_sources().into_iter().map(|src| Inst::Sop1 { op, dst, src: Some(src) }));
        }
        Format::Sop2 => {
            let srcs = [small, sgpr(3).into()];
            all.extend(scalars.iter().map(|&dst| Inst::Sop2 { op, dst, srcs }));
            for src in scalar_sources() {
                let dst = Scalar::Sgpr(sgpr(2));
                all.extend([[src, sgpr(1).into()], [small, src], [src, src]].map(|srcs| Inst::Sop2 { op, dst, srcs }));
            }
        }
        Format::Smem => {
            let soffsets = [None, Some(Scalar::Sgpr(sgpr(0))), Some(Scalar::Sgpr(sgpr(105))), Some(Scalar::M0)];
            for offset in [0, 4, 0x20, -4, 0xf_ffff, -0x10_0000] {
                for soffset in soffsets {
                    all.push(Inst::Smem { op, data: sgpr(40), base: sgpr(104), offset, soffset });
                }
            }
            all.push(Inst::Smem { op, data: sgpr(88), base: sgpr(0), offset: 8, soffset: None });
        }
        Format::Vop1 => {
            all.extend(dsts.map(|dst| Inst::Vop1 { op, dst, src: other }));
            all.extend(vector_sources().into_iter().map(|src| Inst::Vop1 { op, dst: Vgpr(3), src }));
        }
        Format::Vop2 => {
            all.extend(dsts.map(|dst| Inst::Vop2 { op, dst, srcs: [small, other] }));
            for src in vector_sources() {
                let pairs = [[src, other], [other, src], [src, src], [src, sgpr(5).into()]];
                all.extend(pairs.map(|srcs| Inst::Vop2 { op, dst: Vgpr(3), srcs }));
            }
        }
        Format::Vop3 if op == Op::VCndmaskB32 => {
            for mask in [Scalar::Sgpr(sgpr(4)), Scalar::VccLo, Scalar::Sgpr(sgpr(104))] {
                let mask = LaneMask::W32(mask);
                all.extend([[small, Src::Int(-1)], [other, small]].map(|srcs| Inst::Cndmask {
                    dst: Vgpr(1),
                    srcs,
                    mask,
                }));
            }
        }
        Format::Vop3 => {
            let three = |srcs: [Src; 3]| if op.sources() == 3 { srcs } else { [srcs[0], srcs[1], Src::Int(0)] };
            all.extend(dsts.map(|dst| Inst::Vop3 { op, dst, srcs: three([other, small, other]) }));
            for src in vector_sources() {
                let places =
                    [[src, other, small], [small, src, other], [other, small, src], [src, src, sgpr(7).into()]];
                all.extend(places.map(|srcs| Inst::Vop3 { op, dst: Vgpr(3), srcs: three(srcs) }));
            }
        }
        Format::Mubuf | Format::Mtbuf => all = buffers(op),
        Format::Exp => all = exports(),
        other => panic!("glue emits no {other}"),
    }
    all
}

fn buffers(op: Op) -> Vec<Inst> {
    let number = |n| if op.format() == Format::Mtbuf { BufferFormat::new(n) } else { None };
    let plain = Buffer {
        op,
        data: Vgpr(4),
        address: BufferAddress::Index(Vgpr(0)),
        resource: sgpr(40),
        soffset: Src::Int(0),
        offset: 0,
        format: number(22),
        cache: Cache::default(),
    };
    let mut all: Vec<Buffer> = (0..128).map(|n| Buffer { format: number(n), ..plain }).collect();
    all.dedup();
    let v = Vgpr(254);
    all.extend(
        [BufferAddress::Off, BufferAddress::Index(v), BufferAddress::Offset(v), BufferAddress::IndexOffset(v)]
            .map(|address| Buffer { address, ..plain }),
    );
    all.extend([1, 8, 4095].map(|offset| Buffer { offset, ..plain }));
    all.extend([0, 100].map(|n| Buffer { resource: sgpr(n), ..plain }));
    all.extend([0, 252].map(|n| Buffer { data: Vgpr(n), ..plain }));
    let soffsets = [sgpr(0).into(), sgpr(105).into(), Src::Scalar(Scalar::M0), Src::Int(64), Src::Int(-16)];
    all.extend(soffsets.map(|soffset| Buffer { soffset, ..plain }));
    all.push(Buffer { soffset: Src::Float(InlineFloat::Half), ..plain });
    for bits in 1..8 {
        let cache = Cache { glc: bits & 1 != 0, slc: bits & 2 != 0, dlc: bits & 4 != 0 };
        all.push(Buffer { cache, ..plain });
    }
    all.into_iter().map(Inst::Buffer).collect()
}

fn exports() -> Vec<Inst> {
    let fixed = [ExpTarget::Mrtz, ExpTarget::Null, ExpTarget::Prim];
    let targets = fixed.into_iter().chain((0..8).map(ExpTarget::Mrt)).chain((0..5).map(ExpTarget::Pos));
    let targets: Vec<ExpTarget> = targets.chain((0..32).map(ExpTarget::Param)).collect();
    let all_on = ExpSources::Full([3, 2, 1, 255].map(|v| Some(Vgpr(v))));
    let mut all: Vec<Inst> = Vec::new();
    for &target in &targets {
        for (done, vm) in [(false, false), (true, false), (false, true), (true, true)] {
            all.push(Inst::Exp { target, sources: all_on, done, vm });
        }
    }
    for mask in 0..16 {
        let on = |i: u8| (mask >> i & 1 == 1).then_some(Vgpr(i + 5));
        let sources = ExpSources::Full([on(0), on(1), on(2), on(3)]);
        all.push(Inst::Exp { target: ExpTarget::Param(1), sources, done: false, vm: false });
        let sources = ExpSources::Packed([on(0), on(1)]);
        all.push(Inst::Exp { target: ExpTarget::Mrt(2), sources, done: false, vm: true });
    }
    all
}

fn all_samples() -> Vec<Inst> {
    let mut all: Vec<Inst> = Op::ALL.iter().flat_map(|&op| samples(op)).collect();
    // The assembler takes no literal of more than 16 bits for an operand of 16.
    let wide = |src: &Src| matches!(src, Src::Literal(bits) if *bits > 0xffff);
    all.retain(|inst| match inst {
        Inst::Vop1 { op: Op::VCvtF32F16, src, .. } => !wide(src),
        Inst::Vop3 { op: Op::VPackB32F16, srcs, .. } => !srcs.iter().any(wide),
        _ => true,
    });
    all
}

#[test]
fn every_instruction_has_samples() {
    for &op in Op::ALL {
        assert!(!samples(op).is_empty(), "{}", op.mnemonic());
    }
}

#[test]
fn the_assembler_reads_our_text_as_our_bytes() {
    let insts = all_samples();
    let text: String = insts.iter().map(|inst| format!("{inst}\n")).collect();
    let Some(output) = llvm_mc("the_assembler_reads_our_text_as_our_bytes", &["-show-encoding"], &text) else { return };
    let encodings: Vec<&str> = output.lines().filter_map(|line| line.split("encoding: ").nth(1)).collect();
    assert_eq!(encodings.len(), insts.len());
    for (inst, theirs) in insts.iter().zip(encodings) {
        let ours: Vec<String> =
            encode_all(GFX, &[*inst]).expect("samples encode").iter().map(|byte| format!("{byte:#04x}")).collect();
        assert_eq!(format!("[{}]", ours.join(",")), theirs, "{inst}");
    }
}

#[test]
fn the_disassembler_says_what_we_print() {
    let insts = all_samples();
    let code = encode_all(GFX, &insts).expect("samples encode");
    let Some(lines) = disassemble("the_disassembler_says_what_we_print", WaveSize::W32, &code) else { return };
    assert_eq!(lines.len(), insts.len());
    for (inst, line) in insts.iter().zip(lines) {
        assert_eq!(inst.to_string(), line);
    }
}

#[test]
fn decoding_undoes_encoding() {
    for inst in all_samples() {
        let mut dwords = Vec::new();
        encode(GFX, &inst, &mut dwords).expect("samples encode");
        let length = dwords.len();
        dwords.push(0xbf80_0000);
        assert_eq!(decode(GFX, WaveSize::W32, &dwords), Ok((inst, length)), "{inst}");
        let cut = decode(GFX, WaveSize::W32, &dwords[..length - 1]);
        assert!(cut.is_err(), "{inst} without its last dword gives {cut:?}");
    }
}

#[test]
fn a_mask_of_64_lanes_is_a_pair() {
    let mask = LaneMask::W64(Scalar::Sgpr(sgpr(4)));
    let inst = Inst::Cndmask { dst: Vgpr(1), srcs: [Src::Int(0), Vgpr(2).into()], mask };
    let code = encode_all(GFX, &[inst]).expect("encodes");
    assert_eq!(inst.to_string(), "v_cndmask_b32_e64 v1, 0, v2, s[4:5]");
    if let Some(lines) = disassemble("a_mask_of_64_lanes_is_a_pair", WaveSize::W64, &code) {
        assert_eq!(lines, [inst.to_string()]);
    }
    let odd = Inst::Cndmask { dst: Vgpr(1), srcs: [Src::Int(0); 2], mask: LaneMask::W64(Scalar::Sgpr(sgpr(5))) };
    assert!(encode_all(GFX, &[odd]).is_err());
}

/// Any two dwords either are refused, or come back as they were.
#[test]
fn what_decodes_encodes_back() {
    proptest::proptest!(|(words: [u32; 3], top in 0u32..64)| {
        let words = [words[0] & 0x03ff_ffff | top << 26, words[1], words[2]];
        if let Ok((inst, length)) = decode(GFX, WaveSize::W32, &words) {
            let mut again = Vec::new();
            if encode(GFX, &inst, &mut again).is_ok() {
                proptest::prop_assert_eq!(&again[..], &words[..length]);
            }
        }
    });
}

/// What the assembler makes of the disassembler's own examples, of every number in the table, reads back as the same text.
#[test]
fn every_number_is_listed_as_the_disassembler_lists_it() {
    const EXAMPLES: &str = include_str!("../../testdata/isa/opcodes-gfx1030.tsv");
    // Operands of a kind that nothing here emits: listed by name alone.
    const BY_NAME: [&str; 7] = [
        "s_subvector_loop_begin",
        "s_subvector_loop_end",
        "s_waitcnt_depctr",
        "s_atc_probe",
        "s_atc_probe_buffer",
        "image_bvh_intersect_ray",
        "image_bvh64_intersect_ray",
    ];
    let examples = EXAMPLES.lines().skip(1).filter_map(|line| line.split('\t').nth(5));
    let usable = examples.filter(|text| !text.contains("Invalid register")).collect::<Vec<_>>().join("\n");
    let test = "every_number_is_listed_as_the_disassembler_lists_it";
    let Some(tool) = support::tool(test, "llvm-mc-19") else { return };
    // A few examples mean something else to the assembler, which says so and goes on.
    let output = tool.output(&["-arch=amdgcn", "-mcpu=gfx1030", "-show-encoding"], usable.as_bytes());
    let output = String::from_utf8(output.stdout).expect("text");
    let mut listed = 0;
    for line in output.lines() {
        let Some((text, encoding)) = line.split_once("encoding: [") else { continue };
        let text = text.trim().trim_end_matches([';', '/', ' ']).trim();
        let byte = |byte: &str| u8::from_str_radix(byte.trim().trim_start_matches("0x"), 16).expect("a byte");
        let bytes: Vec<u8> = encoding.trim_end_matches(']').split(',').map(byte).collect();
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect();
        let inst = crate::isa::disassemble(GFX, &words).expect(text);
        assert_eq!(usize::from(inst.dwords), words.len(), "{text}");
        if BY_NAME.contains(&inst.entry.mnemonic) {
            assert!(text.starts_with(inst.entry.mnemonic));
        } else {
            assert_eq!(inst.text(WaveSize::W32), text);
        }
        assert!(crate::isa::disassemble(GFX, &words[..words.len() - 1]).is_err(), "{text} without its last dword");
        listed += 1;
    }
    assert!(listed > 1400, "{listed}");
}

/// Any dwords are refused, or read as an instruction that can be listed.
#[test]
fn any_dwords_are_read_or_refused() {
    proptest::proptest!(|(words: [u32; 6])| {
        if let Ok(inst) = crate::isa::disassemble(GFX, &words) {
            proptest::prop_assert!(!inst.text(WaveSize::W64).is_empty());
        }
    });
}
