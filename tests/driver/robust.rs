//! Damaged bytes are read or rejected, never cause a panic, and never yield an ELF that violates a rule.

use crate::link_support::*;
use dovetail::error::ErrorKind;
use dovetail::link::{EmitGlue, Object, Placement, link, verify};
use proptest::prelude::*;
use std::sync::LazyLock;

static PARTS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let mut ps = fragment().load_symbol(6, "doff_0_0_b").load_symbol(7, "pushconst");
    ps.data.push((".rodata".into(), 16, vec![7; 24]));
    ps.relocations.push((4, ABS32_LO, Against::Section(".rodata".into())));
    ps.relocations.remove(0);
    [vertex().load_symbol(9, "descset_1").build(), ps.build()]
});

static FINAL: LazyLock<Vec<u8>> =
    LazyLock::new(|| link(&[&PARTS[0], &PARTS[1]], &state(), Placement::Adjacent, &EmitGlue).unwrap());

/// Linking damaged parts gives a final ELF that obeys all rules, or an error that is not an internal bug.
fn survives(vertex: &[u8], fragment: &[u8]) {
    for placement in [Placement::Adjacent, Placement::Chained] {
        match link(&[vertex, fragment], &state(), placement, &EmitGlue) {
            Err(e) => assert!(!matches!(e.kind(), ErrorKind::Bug(_)), "{e}"),
            Ok(elf) => {
                let report = verify(&elf).unwrap();
                assert!(report.is_ok(), "{:#?}", report.violations);
            }
        }
    }
}

fn damage(bytes: &[u8], changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for (at, value) in changes {
        let at = at.index(out.len());
        out[at] = *value;
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Object::parse(&bytes).is_err());
        let _ = verify(&bytes);
    }

    #[test]
    fn damaged_parts_are_linked_or_refused(
        which in 0usize..2,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let damaged = damage(&PARTS[which], &changes);
        let parts = if which == 0 { [&damaged, &PARTS[1]] } else { [&PARTS[0], &damaged] };
        survives(parts[0], parts[1]);
    }

    #[test]
    fn damaged_finals_are_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let _ = verify(&damage(&FINAL, &changes));
    }
}

#[test]
fn torn_files_are_refused() {
    let whole = &PARTS[1];
    for cut in 0..whole.len() {
        assert!(Object::parse(&whole[..cut]).is_err(), "cut at {cut}");
        let _ = verify(&whole[..cut]);
    }
}

#[test]
fn every_byte_of_a_part_may_be_wrong() {
    for part in 0..2 {
        for at in 0..PARTS[part].len() {
            let mut damaged = PARTS[part].clone();
            damaged[at] ^= 0x81;
            if part == 0 {
                survives(&damaged, &PARTS[1]);
            } else {
                survives(&PARTS[0], &damaged);
            }
        }
    }
}

#[test]
fn parts_may_stand_at_any_address() {
    let mut shifted = vec![0];
    shifted.extend(&PARTS[0]);
    let a = link(&[&shifted[1..], &PARTS[1]], &state(), Placement::Adjacent, &EmitGlue).unwrap();
    assert!(a == *FINAL);
}
