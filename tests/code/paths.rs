//! Checker rules that depend on the path to an instruction: what a prolog may overwrite, what only some lanes need, who
//! waits for an export; and which findings are errors and which remarks. All code is handwritten.

use crate::by_hand::{assemble, breaks, findings, keeps, linked, linked_with};
use crate::link_support::{Unlinked, compute, fragment, vertex};
use dovetail::check::{CodeRule, CodeViolation, Severity, check};
use dovetail::error::Result;
use dovetail::glue::{Attach, GlueKey, GluePiece, PieceKey, emit};
use dovetail::link::{GlueSource, Placement};
use dovetail::metadata::interface::{ExportedFormats, FragmentInterface, StageKind};
use dovetail::target::WaveSize;
use std::process::{Command, Output};
use std::sync::Arc;

/// Glue with this code as the prolog of every vertex body, and ordinary glue elsewhere.
struct Prolog(Vec<u32>);

impl GlueSource for Prolog {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        if !matches!(key.piece, PieceKey::Fetch(_)) {
            return emit(key).map(Arc::new);
        }
        let code = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let symbol = "_amdgpu_vs_main".into();
        Ok(Arc::new(GluePiece { code, symbol, attach: Attach::Before, sgprs: 16, vgprs: 12 }))
    }
}

/// A vertex shader with scratch memory: the wave's offset is in s7, after seven user-data registers.
fn vertex_with_scratch() -> Unlinked {
    let mut part = vertex();
    part.registers[1].1 |= 1;
    part.scratch = 16;
    part
}

#[test]
fn what_is_set_at_entry_reaches_the_body() {
    let test = "paths::what_is_set_at_entry_reaches_the_body";
    const ATTRIBUTES: &str = "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n";
    let check_both = |part: fn() -> Unlinked, prolog: &str, body: &str| -> Option<Vec<CodeViolation>> {
        let prolog = assemble(test, WaveSize::W32, &format!("{ATTRIBUTES}{prolog}"))?;
        let body = assemble(test, WaveSize::W32, &format!("{body}\nexp pos0 v4, v5, v6, v7 done\nv_mov_b32 v0, v4"))?;
        let [adjacent, chained] = [Placement::Adjacent, Placement::Chained]
            .map(|p| findings(&linked_with(part(), body.words.clone(), p, &Prolog(prolog.words.clone()))));
        assert_eq!(adjacent.len(), chained.len());
        Some(adjacent)
    };
    // The scratch offset, a descriptor set, the vertex id.
    type Case = (fn() -> Unlinked, &'static str, &'static str);
    let cases: [Case; 3] = [
        (vertex_with_scratch, "s7", "v_add_nc_u32 v4, s7, v4"),
        (vertex, "s2", "s_mov_b32 s9, s2\nv_mov_b32 v4, s9"),
        (vertex, "v0", "v_cvt_f32_u32 v4, v0"),
    ];
    for (part, register, body) in cases {
        let write =
            |r: &str| if r.starts_with('v') { format!("v_mov_b32_e32 {r}, 0") } else { format!("s_mov_b32 {r}, 0") };
        // Other registers may be overwritten.
        let Some(found) = check_both(part, "s_mov_b32 s8, 0\ns_mov_b32 s5, 0", body) else { return };
        assert!(found.is_empty(), "{register}: {found:#?}");
        // One path suffices for an error.
        let around = format!("s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 over\n{}\nover:", write(register));
        for prolog in [write(register), around] {
            let found = check_both(part, &prolog, body).expect("assembled before");
            let [finding] = &found[..] else { panic!("{register}: {found:#?}") };
            assert_eq!((finding.rule, finding.register.as_deref()), (CodeRule::Entry, Some(register)), "{finding}");
            assert_eq!((finding.place.part, finding.severity), ("body", Severity::Error));
            let issued = finding.issued.as_ref().expect("what replaced it");
            assert_eq!((issued.part, &issued.instruction), ("prolog", &write(register)));
        }
        // A register that the body has written itself may be overwritten before.
        let found = check_both(part, &write(register), &format!("{}\n{body}", write(register))).expect("assembled");
        assert!(found.is_empty(), "{register}: {found:#?}");
    }
}

/// A fragment body with its own exports.
fn fragment_alone(exported: ExportedFormats, kills: bool) -> Unlinked {
    let mut part = fragment();
    part.interface.epilog = false;
    part.interface.kind =
        StageKind::Fragment(FragmentInterface { exported: Some(exported), kills, ..Default::default() });
    part.symbol = "_amdgpu_ps_main".into();
    part.joint = false;
    part
}

fn fragment_of_nothing() -> Unlinked {
    fragment_alone(ExportedFormats::default(), false)
}

fn fragment_that_kills() -> Unlinked {
    fragment_alone(ExportedFormats { col_format: 1, cb_mask: 1, z_format: 0 }, true)
}

fn fragment_of_a_colour() -> Unlinked {
    fragment_alone(ExportedFormats { col_format: 9, cb_mask: 15, z_format: 0 }, false)
}

fn fragment_of_depth() -> Unlinked {
    fragment_alone(ExportedFormats { col_format: 0, cb_mask: 0, z_format: 1 }, false)
}

#[test]
fn exports_are_ended_where_they_are_waited_for() {
    let test = "paths::exports_are_ended_where_they_are_waited_for";
    let null = "exp null off, off, off, off done vm\ns_endpgm";
    keeps(test, fragment_of_nothing, "s_endpgm");
    keeps(test, fragment_of_nothing, null);
    breaks(test, fragment_of_nothing, CodeRule::Export, "exp null off, off, off, off vm\n> s_endpgm");
    for part in [fragment_that_kills as fn() -> Unlinked, fragment_of_a_colour, fragment_of_depth] {
        keeps(test, part, null);
        breaks(test, part, CodeRule::Export, "> s_endpgm");
        let one_way = "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 over\nexp null off, off, off, off done vm\nover:\n> s_endpgm";
        breaks(test, part, CodeRule::Export, one_way);
    }
}

fn compute_64() -> Unlinked {
    let mut part = compute();
    part.interface.wave = WaveSize::W64;
    part
}

/// The text for wave32 and, with names changed, for wave64.
fn of_64(text: &str) -> String {
    let pairs =
        ["s16", "s18", "s20", "s22"].map(|s| (s, format!("s[{}:{}]", &s[1..], s[1..].parse::<u32>().unwrap() + 1)));
    let text = text.replace("saveexec_b32", "saveexec_b64").replace("exec_lo", "exec").replace("vcc_lo", "vcc");
    let text = ["s_or", "s_and", "s_mov", "s_xor"]
        .iter()
        .fold(text, |text, op| text.replace(&format!("{op}_b32"), &format!("{op}_b64")));
    pairs.iter().fold(text, |text, (one, pair)| text.replace(one, pair))
}

#[test]
fn what_no_lane_uses_needs_no_value() {
    let test = "paths::what_no_lane_uses_needs_no_value";
    // Lanes below 5 load a descriptor; those of them below 3 use it afterwards, if `mask` says so.
    let code = |first: &str, kept: &str, mask: &str, used: &str| {
        format!(
            "{first}
            v_cmp_gt_u32 vcc_lo, 5, v0
            s_and_saveexec_b32 s18, vcc_lo
            s_cbranch_execz over
            s_load_dwordx4 s[12:15], s[2:3], null
            s_waitcnt lgkmcnt(0)
            v_cmp_gt_u32 vcc_lo, 3, v0
            {kept}
            over:
            s_or_b32 exec_lo, exec_lo, s18
            {mask}
            {used}
            s_endpgm"
        )
    };
    let none = "s_mov_b32 s16, 0";
    let kept = "s_and_b32 s16, vcc_lo, exec_lo";
    let some = "s_and_saveexec_b32 s20, s16";
    let load = |mark: &str| {
        format!(
            "{mark} buffer_load_dword v2, v0, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\nglobal_store_dword v0, v2, s[2:3]"
        )
    };
    let both = |good: bool, text: &str| {
        let wide = of_64(text);
        match good {
            true => (keeps(test, compute, text), keeps(test, compute_64, &wide)),
            false => (
                breaks(test, compute, CodeRule::Uninitialised, text),
                breaks(test, compute_64, CodeRule::Uninitialised, &wide),
            ),
        };
    };
    both(true, &code(none, kept, some, &load("")));
    // Through a copy, and combined with another mask of such lanes.
    both(true, &code(none, kept, &format!("s_mov_b32 s22, s16\n{}", some.replace("s16", "s22")), &load("")));
    both(true, &code(none, &format!("{kept}\ns_or_b32 s16, s16, exec_lo"), some, &load("")));
    // All lanes; a mask that was not empty before; one to which other lanes were added; lanes that were active at
    // first.
    both(false, &code(none, kept, "", &load(">")));
    both(false, &code("s_mov_b32 s16, -1", kept, some, &load(">")));
    both(false, &code(none, kept, &format!("s_or_b32 s16, s16, exec_lo\n{some}"), &load(">")));
    both(false, &code(none, "s_and_b32 s22, vcc_lo, exec_lo", "s_and_saveexec_b32 s20, s18", &load(">")));
    // A scalar load executes even without active lanes, unless a branch skips it.
    let scalar = |mark: &str| {
        format!(
            "{mark} s_load_dword s8, s[12:13], null\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s8\nglobal_store_dword v0, v2, s[2:3]"
        )
    };
    both(false, &code(none, kept, some, &scalar(">")));
    both(true, &code(none, kept, &format!("{some}\ns_cbranch_execz end"), &format!("{}\nend:", scalar(""))));
    let other = format!("{some}\ns_cbranch_execnz end\ns_mov_b32 exec_lo, s20");
    both(false, &code(none, kept, &other, &format!("{}\nend:", scalar(">"))));
    // VCC gives the same information.
    let vcc = |branch: &str| format!("s_and_b32 vcc_lo, exec_lo, s16\n{branch} end");
    both(true, &code(none, kept, &vcc("s_cbranch_vccz"), &format!("{}\nend:", scalar(""))));
    both(false, &code(none, kept, &vcc("s_cbranch_vccnz"), &format!("{}\nend:", scalar(">"))));
}

/// The unread upper half of a sum.
const WASTE: &str =
    "s_add_u32 s12, s2, s5\n> s_addc_u32 s13, s3, s5\nv_mov_b32 v2, s12\nglobal_store_dword v0, v2, s[2:3]\ns_endpgm";

fn verify(elf: &[u8], more: &[&str]) -> Output {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("a.elf");
    std::fs::write(&path, elf).expect("written");
    let mut run = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    run.args(["verify", "--code"]).args(more).arg(&path).output().expect("run")
}

#[test]
fn waste_is_a_remark() {
    let test = "paths::waste_is_a_remark";
    breaks(test, compute, CodeRule::DeadResult, WASTE);
    let Some(waste) = assemble(test, WaveSize::W32, WASTE) else { return };
    let waste = linked(compute(), waste.words, Placement::Adjacent);
    let report = check(&waste).expect("code");
    assert_eq!((report.is_ok(), report.errors().count(), report.remarks().count()), (true, 0, 1));
    let out = verify(&waste, &[]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("0 errors, 1 remark") && said.contains("remark: compute body"), "{said}");
    let json = String::from_utf8_lossy(&verify(&waste, &["--json"]).stdout).into_owned();
    assert!(json.contains(r#""severity": "remark""#), "{json}");

    // A never-taken branch where whole-quad mode ends.
    let never = "s_mov_b32 s12, exec_lo
        s_wqm_b32 exec_lo, exec_lo
        s_and_b32 exec_lo, exec_lo, s12
        > s_cbranch_execz never
        s_branch end
        never:
        v_mov_b32 v1, 0
        end:
        global_store_dword v0, v1, s[2:3]
        s_endpgm";
    breaks(test, compute, CodeRule::Idle, never);
    let never = assemble(test, WaveSize::W32, never).expect("assembled before");
    assert!(check(&linked(compute(), never.words, Placement::Adjacent)).expect("code").is_ok());

    // Storing a value that the shader never computed. Using it as an address or in arithmetic is an error.
    breaks(test, compute, CodeRule::Undefined, "> global_store_dwordx2 v0, v[1:2], s[2:3]\ns_endpgm");
    breaks(test, compute, CodeRule::Undefined, "> ds_write2_b32 v0, v1, v2 offset1:1\ns_endpgm");
    breaks(test, compute, CodeRule::Undefined, "> global_atomic_add v0, v2, s[2:3]\ns_endpgm");
    breaks(test, compute, CodeRule::Undefined, "> ds_add_u32 v0, v2\ns_endpgm");
    breaks(test, compute, CodeRule::Uninitialised, "> global_atomic_add v2, v0, s[2:3]\ns_endpgm");
    breaks(test, compute, CodeRule::Uninitialised, "> global_store_dword v2, v1, s[2:3]\ns_endpgm");
    let stored =
        assemble(test, WaveSize::W32, "global_store_dword v0, v2, s[2:3]\ns_endpgm").expect("assembled before");
    assert!(check(&linked(compute(), stored.words, Placement::Adjacent)).expect("code").is_ok());

    // A copy that is overwritten needs no value; a copy that is used does.
    let group = "v_mov_b32 v1, s20\nv_mov_b32 v2, s21\nv_mov_b32 v1, 0\nv_mov_b32 v2, v1
        global_store_dwordx2 v0, v[1:2], s[2:3]\ns_endpgm";
    let group = assemble(test, WaveSize::W32, group).expect("assembled before");
    let found = check(&linked(compute(), group.words, Placement::Adjacent)).expect("code");
    assert!(found.is_ok(), "{found:?}");
    let used = "v_mov_b32 v2, s20\n> v_add_nc_u32_e32 v2, v2, v0\nglobal_store_dword v0, v2, s[2:3]\ns_endpgm";
    breaks(test, compute, CodeRule::Uninitialised, used);
    let used = "s_mov_b32 s12, s20\n> s_add_u32 s12, s12, s12\nv_mov_b32 v2, s12
        global_store_dword v0, v2, s[2:3]\ns_endpgm";
    breaks(test, compute, CodeRule::Uninitialised, used);

    let wrong = "v_add_nc_u32_e32 v2, s20, v0\nglobal_store_dword v0, v2, s[2:3]\ns_endpgm";
    let wrong = assemble(test, WaveSize::W32, wrong);
    let wrong = linked(compute(), wrong.expect("assembled before").words, Placement::Adjacent);
    assert!(!check(&wrong).expect("code").is_ok());
    let out = verify(&wrong, &[]);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(String::from_utf8_lossy(&out.stdout).contains("error: compute body"), "{out:?}");
}
