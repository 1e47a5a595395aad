//! Bodies without what their layout makes superfluous: every dword of the code, and the places that move with it, by hand.

use crate::link_support::*;
use dovetail::link::{EmitGlue, Placement, link, verify};
use dovetail::state::PipelineState;

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
    let (code, places) = fitted(&removable(), &buffers([Some(0), Some(16), Some(48), Some(64)]));
    let expected = [
        S_CBRANCH_SCC0 | 9,
        scalar_load(8, 8),
        NO_OFFSET,
        scalar_load(8, 16),
        NO_OFFSET | 48,
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
    let (code, places) = fitted(&removable(), &buffers([Some(32), Some(48), Some(64), Some(80)]));
    let expected = [
        S_CBRANCH_SCC0 | 7,
        scalar_load(16, 8),
        NO_OFFSET | 32,
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
    let (code, places) = fitted(&removable(), &buffers([Some(0), Some(32), Some(64), Some(96)]));
    let expected = [
        S_CBRANCH_SCC0 | 13,
        scalar_load(4, 8),
        NO_OFFSET,
        scalar_load(4, 12),
        NO_OFFSET | 32,
        scalar_load(4, 16),
        NO_OFFSET | 64,
        scalar_load(4, 20),
        NO_OFFSET | 96,
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
    let (code, places) = fitted(&removable(), &buffers([None, Some(20), Some(36), Some(52)]));
    let expected = [
        S_CBRANCH_SCC0 | 12,
        MOVE,
        // By the address in s6 and s7.
        scalar_load(4, 8) + 1,
        NO_OFFSET | 4,
        scalar_load(8, 12),
        NO_OFFSET | 20,
        scalar_load(4, 20),
        NO_OFFSET | 52,
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
        let mut part = removable();
        change(&mut part);
        let linked = link(&[&part.build()], &buffers([Some(0); 4].map(|_| None)), Placement::Adjacent, &EmitGlue);
        linked.expect_err("refused").to_string()
    };
    // A constant offset would be lost when loads become one.
    assert!(refused(|part| part.code[5] = NO_OFFSET | 4).contains("no scalar load by address"));
    // Registers that do not follow on, and another address.
    assert!(refused(|part| part.code[6] = scalar_load(4, 20)).contains("of other registers"));
    assert!(refused(|part| part.code[6] = scalar_load(4, 16) + 1).contains("of other registers"));
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
    vs.code = [&[scalar_load(4, 8), NO_OFFSET, scalar_load(4, 12), NO_OFFSET], &vs.code[..]].concat();
    let open = |symbol: &str| Against::Open(symbol.into());
    vs.relocations = vec![
        (4, SMEM_OFFSET, open("doff_0_0_b")),
        (8, JOIN, open("doff_0_1_b")),
        (12, SMEM_OFFSET, open("doff_0_1_b")),
    ];
    let state = buffers([Some(16), Some(32), Some(64), Some(96)]);
    for placement in [Placement::Adjacent, Placement::Chained] {
        let elf = link(&[&vs.build(), &fragment().build()], &state, placement, &EmitGlue).expect("links");
        assert!(verify(&elf).expect("an ELF").is_ok(), "{placement:?}");
        let words: Vec<u32> = elf.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let fitted = [scalar_load(8, 8), NO_OFFSET | 16, 0xF800_08CF, 0x0706_0504, S_NOP];
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
