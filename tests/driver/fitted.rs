//! Bodies without what their layout makes superfluous: every dword of the code, and the places that move with it, by hand.

use crate::link_support::*;
use dovetail::kinds::ResourceKind;
use dovetail::link::{EmitGlue, Placement, link, verify};
use dovetail::state::{BindingLayout, PipelineState, ResourceLayout, SetLayout};

// Dovetail's own relocations (docs/unlinked-elf.md).
const SMEM_OFFSET: u32 = 0xe0;
const TABLE: u32 = 0xe2;
const JOIN: u32 = 0xe3;
const OPTIONAL: u32 = 0xe4;
const DISTANCE: u32 = 0xe5;

const S_CBRANCH_SCC0: u32 = 0xbf84_0000;
/// `s_mov_b32 s7, s1`
const MOVE: u32 = 0xbe87_0301;
/// No offset register, in the second dword of a scalar load; `s6` there.
const NONE: u32 = 0xfa00_0000;
const S6: u32 = 0x0c00_0000;

/// First dword of a load of 4, 8 or 16 dwords to registers from `data` on, by the address in s4 and s5.
fn load(dwords: u32, data: u32) -> u32 {
    0xf400_0000 | dwords.trailing_zeros() << 18 | data << 6 | 4 / 2
}

/// A branch over a move for buffers in the root table, four loads of which the first may be from there, two literals, and a
/// branch back to the move.
fn part() -> Unlinked {
    let mut part = compute();
    part.code = vec![
        S_CBRANCH_SCC0 | 14,
        MOVE,
        load(4, 8),
        S6,
        load(4, 12),
        NONE,
        load(4, 16),
        NONE,
        load(4, 20),
        NONE,
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
fn layout(offsets: [Option<u32>; 4]) -> PipelineState {
    let binding = |(binding, offset): (u32, &Option<u32>)| BindingLayout {
        binding,
        kind: ResourceKind::UniformBuffer.into(),
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

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a dword"))
}

/// The words of the code up to `s_endpgm`, and the offsets that the loader patches.
fn fitted(part: &Unlinked, state: &PipelineState) -> (Vec<u32>, Vec<u32>) {
    let elf = link(&[&part.build()], state, Placement::Adjacent, &EmitGlue).expect("links");
    assert!(verify(&elf).expect("an ELF").is_ok(), "{:?}", verify(&elf).expect("an ELF").violations);
    let (mut code, mut places) = (Vec::new(), Vec::new());
    let table = word(&elf, 40) as usize;
    for header in (table..table + 64 * usize::from(elf[60])).step_by(64) {
        let (kind, flags) = (word(&elf, header + 4), word(&elf, header + 8));
        let (at, size) = (word(&elf, header + 24) as usize, word(&elf, header + 32) as usize);
        let section = &elf[at..at + size];
        match (kind, flags) {
            (1, 6) => code = section.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect(),
            (9, _) => places.extend(section.chunks(16).map(|record| word(record, 0))),
            _ => {}
        }
    }
    let end = code.iter().position(|word| *word == S_ENDPGM).expect("an end");
    code.truncate(end + 1);
    (code, places)
}

#[test]
fn two_pairs_of_neighbours() {
    let (code, places) = fitted(&part(), &layout([Some(0), Some(16), Some(48), Some(64)]));
    let expected = [
        S_CBRANCH_SCC0 | 9,
        load(8, 8),
        NONE,
        load(8, 16),
        NONE | 48,
        s_mov_literal(30),
        16,
        s_mov_literal(31),
        0,
        // To the first load: the move is gone.
        S_BRANCH | 0xfff7,
        S_ENDPGM,
    ];
    assert_eq!((&code[..], &places[..]), (&expected[..], &[32][..]));
}

#[test]
fn four_neighbours() {
    let (code, places) = fitted(&part(), &layout([Some(32), Some(48), Some(64), Some(80)]));
    let expected = [
        S_CBRANCH_SCC0 | 7,
        load(16, 8),
        NONE | 32,
        s_mov_literal(30),
        16,
        s_mov_literal(31),
        0,
        S_BRANCH | 0xfff9,
        S_ENDPGM,
    ];
    assert_eq!((&code[..], &places[..]), (&expected[..], &[24][..]));
}

#[test]
fn no_neighbours() {
    let (code, places) = fitted(&part(), &layout([Some(0), Some(32), Some(64), Some(96)]));
    let expected = [
        S_CBRANCH_SCC0 | 13,
        load(4, 8),
        NONE,
        load(4, 12),
        NONE | 32,
        load(4, 16),
        NONE | 64,
        load(4, 20),
        NONE | 96,
        s_mov_literal(30),
        16,
        s_mov_literal(31),
        0,
        S_BRANCH | 0xfff3,
        S_ENDPGM,
    ];
    assert_eq!((&code[..], &places[..]), (&expected[..], &[48][..]));
}

/// The first buffer is at byte 4 of the root table, after the set's pointer; the second one, 16 bytes further, is in another
/// table.
#[test]
fn a_buffer_in_the_root_table() {
    let (code, places) = fitted(&part(), &layout([None, Some(20), Some(36), Some(52)]));
    let expected = [
        S_CBRANCH_SCC0 | 12,
        MOVE,
        // By the address in s6 and s7.
        load(4, 8) + 1,
        NONE | 4,
        load(8, 12),
        NONE | 20,
        load(4, 20),
        NONE | 52,
        s_mov_literal(30),
        16,
        s_mov_literal(31),
        0,
        S_BRANCH | 0xfff4,
        S_ENDPGM,
    ];
    assert_eq!((&code[..], &places[..]), (&expected[..], &[44][..]));
}

#[test]
fn what_these_relocations_are_not_for() {
    let refused = |change: fn(&mut Unlinked)| {
        let mut part = part();
        change(&mut part);
        let linked = link(&[&part.build()], &layout([Some(0); 4].map(|_| None)), Placement::Adjacent, &EmitGlue);
        linked.expect_err("refused").to_string()
    };
    // A constant offset would be lost when loads become one.
    assert!(refused(|part| part.code[5] = NONE | 4).contains("no scalar load by address"));
    // Registers that do not follow on, and another address.
    assert!(refused(|part| part.code[6] = load(4, 20)).contains("of other registers"));
    assert!(refused(|part| part.code[6] = load(4, 16) + 1).contains("of other registers"));
    // Branches to what is not in the body.
    assert!(refused(|part| part.code[0] = S_CBRANCH_SCC0 | 16).contains("no branch within the body"));
    assert!(refused(|part| part.code[14] = S_BRANCH | 0xfff0).contains("no branch within the body"));
    // The move and what else has an address.
    assert!(refused(|part| part.relocations[3].2 = Against::Open("pushconst".into())).contains("R_DOVETAIL_OPTIONAL"));
    assert!(refused(|part| part.relocations[12].0 = 36).contains("which may be removed"));
}

#[test]
fn a_body_after_its_prolog() {
    let mut vs = vertex();
    vs.code = [&[load(4, 8), NONE, load(4, 12), NONE], &vs.code[..]].concat();
    let open = |symbol: &str| Against::Open(symbol.into());
    vs.relocations = vec![
        (4, SMEM_OFFSET, open("doff_0_0_b")),
        (8, JOIN, open("doff_0_1_b")),
        (12, SMEM_OFFSET, open("doff_0_1_b")),
    ];
    let state = layout([Some(16), Some(32), Some(64), Some(96)]);
    for placement in [Placement::Adjacent, Placement::Chained] {
        let elf = link(&[&vs.build(), &fragment().build()], &state, placement, &EmitGlue).expect("links");
        assert!(verify(&elf).expect("an ELF").is_ok(), "{placement:?}");
        let words: Vec<u32> = elf.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let fitted = [load(8, 8), NONE | 16, 0xF800_08CF, 0x0706_0504, S_NOP];
        let at = words.windows(5).position(|run| run == fitted).expect("the body");
        // Directly after it the epilog, which exports, or a branch to it.
        if placement == Placement::Chained {
            assert_eq!(words[at + 5] >> 16, 0xbf82);
            continue;
        }
        assert_eq!(words[at + 5] >> 26, 0x3e, "exp");
        // Before it, up to the padding, the end of the prolog.
        let before = words[..at].iter().rfind(|word| **word != S_NOP && **word >> 16 != S_BRANCH >> 16);
        assert_eq!(before.expect("a prolog") >> 16, 0xbf8c, "s_waitcnt");
    }
}
