//! Instructions on ballots that the shader made itself, with bits for invocations that the subgroup does not have.

use crate::bindings::compiled;
use crate::everywhere::{run, storage};
use dovetail::emu::inputs::Inputs;

const GROUP: usize = 64;

const SOURCE: &str = "#version 450
    #extension GL_KHR_shader_subgroup_ballot : require
    layout(local_size_x = 64) in;
    layout(binding = 0) buffer In { uvec4 ballot; };
    layout(binding = 1) buffer Out { uint left[7][64]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        uvec4 v = ballot;
        left[0][i] = subgroupBallotFindMSB(v);
        left[1][i] = subgroupBallotFindLSB(v);
        left[2][i] = subgroupBallotBitCount(v);
        left[3][i] = subgroupBallotInclusiveBitCount(v);
        left[4][i] = subgroupBallotExclusiveBitCount(v);
        left[5][i] = subgroupInverseBallot(v) ? 1u : 0u;
        left[6][i] = subgroupBallotBitExtract(v, (gl_SubgroupInvocationID * 5u + 3u) % gl_SubgroupSize) ? 1u : 0u;
    }";

/// What an instruction gives in a lane, given the bits of the subgroup's invocations; `None` where it is undefined.
fn expected(instruction: usize, bits: u64, lane: u32, lanes: u32) -> Option<u32> {
    let below = |n: u32| bits & ((1u128 << n) - 1) as u64;
    Some(match instruction {
        0 if bits == 0 => return None,
        0 => 63 - bits.leading_zeros(),
        1 if bits == 0 => return None,
        1 => bits.trailing_zeros(),
        2 => bits.count_ones(),
        3 => below(lane + 1).count_ones(),
        4 => below(lane).count_ones(),
        5 => (bits >> lane & 1) as u32,
        _ => (bits >> ((lane * 5 + 3) % lanes) & 1) as u32,
    })
}

#[test]
fn bits_beyond_the_subgroup_do_not_count() {
    let test = "ballots::bits_beyond_the_subgroup_do_not_count";
    let Some(module) = compiled(test, "b.comp", SOURCE) else { return };
    let mut wrong = Vec::new();
    for words in [
        [5, 0x100, 0, 0],
        [5, 0x100, 7, 1 << 31],
        [0, 0, 1, 1],
        [0, 9, 0, 0],
        [u32::MAX; 4],
        [0x8000_0001, 0x8000_0000, 0, 3],
        [0x1234_5678, 0x9abc_def0, 0x0f0f_0f0f, 0xdead_beef],
    ] {
        let bytes = words.iter().flat_map(|w: &u32| w.to_le_bytes()).collect();
        let bindings = vec![storage(0, bytes), storage(1, vec![0; 7 * GROUP * 4])];
        let inputs = Inputs { bindings, grid: [1; 3], ..Default::default() };
        for left in run(&module, &inputs).unwrap_or_else(|why| panic!("{why}")) {
            let all = u64::from(words[0]) | u64::from(words[1]) << 32;
            let bits = all & u64::MAX >> (64 - left.lanes);
            for (at, word) in left.bindings[1].as_chunks::<4>().0.iter().enumerate() {
                let (instruction, lane) = (at / GROUP, (at % GROUP) as u32 % left.lanes);
                let found = u32::from_le_bytes(*word);
                if expected(instruction, bits, lane, left.lanes).is_some_and(|known| known != found) {
                    wrong.push(format!("{words:x?}: {instruction} in {lane} of {}, {}: {found}", left.lanes, left.way));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
