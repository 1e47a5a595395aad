//! Rules of the machine-code checker: LLVM's code and the glue pass, and handwritten code violates each rule.

use crate::by_hand::{assemble, breaks, findings, keeps, linked};
use crate::elfs::{Builder, build_all};
use crate::link_support::{compute, fragment, vertex};
use dovetail::check::{CodeRule, check};
use dovetail::link::Placement;
use dovetail::target::WaveSize;

/// Checks that everything built passes.
fn passes(test: &'static str, least: usize, make: impl FnOnce(&mut Builder<'_>) -> Option<()>) {
    let Some(built) = build_all(test, make) else { return };
    let mut wrong = Vec::new();
    let mut instructions = 0;
    for one in &built {
        let report = check(&one.elf).unwrap_or_else(|e| panic!("{}: {e}", one.name));
        instructions += report.stages.iter().map(|s| s.instructions).sum::<usize>();
        wrong.extend(report.findings.iter().map(|finding| format!("{}: {finding}", one.name)));
    }
    eprintln!("{} pipelines, {instructions} instructions", built.len());
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
    assert!(built.len() >= least, "{}", built.len());
}

#[test]
fn real_pipelines_pass() {
    passes("rules::real_pipelines_pass", 80, |b| b.shaders());
}

#[test]
fn glue_passes() {
    passes("rules::glue_passes", 30, |b| b.glue());
}

#[test]
fn coverage_cases_pass_in_waves_of_32() {
    passes("rules::coverage_cases_pass_in_waves_of_32", 120, |b| b.coverage(&[WaveSize::W32]));
}

/// Correct shaders that rules once rejected: a rule may report waste only as a remark.
#[test]
fn right_code_has_no_error() {
    let test = "rules::right_code_has_no_error";
    let Some(built) = build_all(test, |b| b.right()) else { return };
    assert!(built.len() >= 36, "{}", built.len());
    for one in &built {
        let report = check(&one.elf).unwrap_or_else(|e| panic!("{}: {e}", one.name));
        let errors: Vec<String> = report.errors().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}: {}", one.name, errors.join("\n"));
    }
}

#[test]
fn coverage_cases_pass_in_waves_of_64() {
    passes("rules::coverage_cases_pass_in_waves_of_64", 120, |b| b.coverage(&[WaveSize::W64]));
}

/// The code of a shader too large for LLVM's passes is wasteful, but correct.
#[test]
fn simple_code_has_no_error() {
    let test = "rules::simple_code_has_no_error";
    let built = build_all(test, |b| {
        b.options.llvm.opt_level = 0;
        b.shaders()?;
        b.coverage(&[WaveSize::W64])
    });
    let Some(built) = built else { return };
    let mut errors = Vec::new();
    for one in &built {
        let report = check(&one.elf).unwrap_or_else(|e| panic!("{}: {e}", one.name));
        errors.extend(report.errors().map(|error| format!("{}: {error}", one.name)));
    }
    assert!(errors.is_empty(), "{} errors:\n{}", errors.len(), errors.join("\n"));
    assert!(built.len() >= 200, "{}", built.len());
}

#[test]
fn scalar_loads_are_waited_for() {
    let test = "rules::scalar_loads_are_waited_for";
    let code = |wait: &str, mark: &str| {
        format!(
            "s_load_dword s12, s[2:3], null
            s_load_dword s13, s[2:3], 0x4
            {wait}
            {mark} v_mov_b32 v2, s12
            s_waitcnt lgkmcnt(0)
            v_add_nc_u32 v2, v2, s13
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &code("s_waitcnt lgkmcnt(0)", ""));
    breaks(test, compute, CodeRule::Wait, &code("", ">"));
    // Scalar loads return in any order.
    breaks(test, compute, CodeRule::Wait, &code("s_waitcnt lgkmcnt(1)", ">"));
    breaks(test, compute, CodeRule::Wait, &code("s_waitcnt vmcnt(0)", ">"));
    let overwritten = "s_load_dword s12, s[2:3], null
        > s_mov_b32 s12, 0
        v_mov_b32 v2, s12
        global_store_dword v0, v2, s[2:3]
        s_endpgm";
    let Some(code) = assemble(test, WaveSize::W32, overwritten) else { return };
    let found = findings(&linked(compute(), code.words, Placement::Adjacent));
    assert_eq!(found[0].rule, CodeRule::Wait);
    assert_eq!(found[0].place.offset, code.bad.expect("marked"));
    assert_eq!(found[0].register.as_deref(), Some("s12"));
    let issued = found[0].issued.as_ref().expect("the load");
    assert_eq!(
        (issued.part, issued.offset, issued.instruction.as_str()),
        ("body", 0, "s_load_dword s12, s[2:3], null")
    );
}

#[test]
fn vector_loads_come_in_order() {
    let test = "rules::vector_loads_come_in_order";
    let code = |count: u32, mark: &str| {
        format!(
            "global_load_dword v2, v0, s[2:3]
            global_load_dword v3, v0, s[2:3] offset:4
            s_waitcnt vmcnt(1)
            v_add_nc_u32 v2, v2, v0
            s_waitcnt vmcnt({count})
            {mark} v_add_nc_u32 v2, v2, v3
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &code(0, ""));
    breaks(test, compute, CodeRule::Wait, &code(1, ">"));
    // A later load of the same kind may overwrite an earlier one's result, a sample may not.
    let twice = |second: &str| {
        format!(
            "s_load_dwordx8 s[12:19], s[2:3], null
            s_waitcnt lgkmcnt(0)
            global_load_dword v2, v0, s[2:3]
            {second}
            s_waitcnt vmcnt(0)
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &twice("global_load_dword v2, v0, s[2:3] offset:8"));
    keeps(test, compute, &twice("image_load v2, v[0:1], s[12:19] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm"));
    let sample = "> image_sample v2, v[0:1], s[12:19], s[12:15] dmask:0x1 dim:SQ_RSRC_IMG_2D";
    breaks(test, compute, CodeRule::Wait, &twice(sample));
    // Flat loads may be served by either memory, so only waiting for all of both suffices.
    let flat = |wait: &str, mark: &str| {
        format!(
            "flat_load_dword v2, v[0:1]
            {wait}
            {mark} v_add_nc_u32 v2, v2, v0
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &flat("s_waitcnt vmcnt(0) lgkmcnt(0)", ""));
    breaks(test, compute, CodeRule::Wait, &flat("s_waitcnt vmcnt(0)", ">"));
    breaks(test, compute, CodeRule::Wait, &flat("s_waitcnt lgkmcnt(0)", ">"));
}

#[test]
fn the_worst_path_counts() {
    let test = "rules::the_worst_path_counts";
    let joined = |wait: &str, mark: &str| {
        format!(
            "v_mov_b32 v2, 0
            s_cmp_eq_u32 s7, 0
            s_cbranch_scc1 over
            global_load_dword v2, v0, s[2:3]
            {wait}
            over:
            {mark} v_add_nc_u32 v2, v2, v0
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &joined("s_waitcnt vmcnt(0)", ""));
    breaks(test, compute, CodeRule::Wait, &joined("", ">"));
    let around = |wait: &str, mark: &str| {
        format!(
            "v_mov_b32 v2, 0
            s_mov_b32 s12, 0
            again:
            {mark} v_add_nc_u32 v3, v2, v0
            global_store_dword v0, v3, s[2:3]
            global_load_dword v2, v0, s[2:3]
            s_add_u32 s12, s12, 1
            s_cmp_lt_u32 s12, s7
            {wait}
            s_cbranch_scc1 again
            s_endpgm"
        )
    };
    keeps(test, compute, &around("s_waitcnt vmcnt(0)", ""));
    breaks(test, compute, CodeRule::Wait, &around("", ">"));
}

#[test]
fn barriers_wait_for_lds() {
    let test = "rules::barriers_wait_for_lds";
    let code = |wait: &str, mark: &str, load: &str| {
        format!(
            "ds_write_b32 v0, v1
            {wait}
            {mark} s_barrier
            {load}
            s_waitcnt lgkmcnt(0)
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &code("s_waitcnt lgkmcnt(0)", "", "ds_read_b32 v2, v0 offset:508"));
    breaks(test, compute, CodeRule::Wait, &code("", ">", "ds_read_b32 v2, v0"));
    breaks(test, compute, CodeRule::Beyond, &code("s_waitcnt lgkmcnt(0)", "", "> ds_read_b32 v2, v0 offset:512"));
}

#[test]
fn exports_are_read_before_their_registers_change() {
    let test = "rules::exports_are_read_before_their_registers_change";
    let code = |wait: &str, next: &str| {
        format!(
            "exp pos0 v4, v5, v6, v7 done
            {wait}
            {next}
            v_mov_b32 v0, v4
            s_nop 0"
        )
    };
    keeps(test, vertex, &code("s_waitcnt expcnt(0)", "v_mov_b32 v4, 0"));
    keeps(test, vertex, &code("", ""));
    breaks(test, vertex, CodeRule::Wait, &code("", "> v_mov_b32 v4, 0"));
    keeps(test, vertex, &code("s_waitcnt expcnt(0)", "s_mov_b32 exec_lo, -1"));
    breaks(test, vertex, CodeRule::ExecWhileExport, &code("", "> s_mov_b32 exec_lo, -1"));
}

#[test]
fn registers_are_written_before_they_are_read() {
    let test = "rules::registers_are_written_before_they_are_read";
    let code = |source: &str, mark: &str| {
        format!(
            "{mark} v_add_nc_u32 v2, v0, {source}
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    for set in ["v1", "s6", "s7", "s10"] {
        keeps(test, compute, &code(set, ""));
    }
    // The second component is the last one loaded, and the per-shader table has no value.
    for unset in ["v2", "s11", "vcc_lo", "m0"] {
        breaks(test, compute, CodeRule::Uninitialised, &code(unset, ">"));
    }
    // A register that is saved in a lane and restored is as unwritten as before.
    let saved = |from: &str, between: &str, mark: &str| {
        format!(
            "v_writelane_b32 v9, {from}, 3
            {between}
            v_readlane_b32 s20, v9, 3
            v_readlane_b32 s21, v9, 4
            v_mov_b32 v2, s21
            {mark} v_add_nc_u32 v2, v2, s20
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    breaks(test, compute, CodeRule::Uninitialised, &saved("s11", "", ">"));
    breaks(test, compute, CodeRule::Uninitialised, &saved("s11", "v_writelane_b32 v9, s3, 4", ">"));
    keeps(test, compute, &saved("s3", "", ""));
    keeps(test, compute, &saved("s11", "v_writelane_b32 v9, s3, 3", ""));
    let one_path = |other: &str, mark: &str| {
        format!(
            "s_cmp_eq_u32 s7, 0
            s_cbranch_scc1 over
            s_mov_b64 s[12:13], s[2:3]
            {other}
            over:
            {mark} global_store_dword v0, v1, s[12:13]
            s_endpgm"
        )
    };
    breaks(test, compute, CodeRule::Uninitialised, &one_path("", ">"));
    keeps(test, compute, &one_path("s_branch over", "").replacen("s_cmp", "s_mov_b64 s[12:13], s[4:5]\ns_cmp", 1));
    let dead = "> v_add_nc_u32 v3, v0, v1\nglobal_store_dword v0, v1, s[2:3]\ns_endpgm";
    breaks(test, compute, CodeRule::DeadResult, dead);
}

#[test]
fn control_stays_in_the_code() {
    let test = "rules::control_stays_in_the_code";
    breaks(test, compute, CodeRule::Branch, "> .long 0xbf8203e8");
    // Into the literal of the move.
    let middle = "s_cmp_eq_u32 s7, 0
        > .long 0xbf840001
        v_mov_b32 v2, 0x7e0402ff
        global_store_dword v0, v2, s[2:3]
        s_endpgm";
    let Some(code) = assemble(test, WaveSize::W32, middle) else { return };
    let found = findings(&linked(compute(), code.words, Placement::Adjacent));
    assert!(found.iter().any(|f| f.rule == CodeRule::Branch && Some(f.place.offset) == code.bad), "{found:#?}");
    breaks(test, compute, CodeRule::Decode, "v_nop\n> .long 0xffffffff");
    breaks(test, compute, CodeRule::Unreachable, "s_endpgm\n> s_endpgm");
    breaks(test, compute, CodeRule::Unfollowed, "> s_setpc_b64 s[2:3]");
    let far = |distance: &str| {
        format!(
            "s_getpc_b64 s[12:13]
            pc:
            s_add_u32 s12, s12, {distance}
            s_addc_u32 s13, s13, 0
            s_setpc_b64 s[12:13]
            there:
            s_endpgm"
        )
    };
    keeps(test, compute, &far("there-pc"));
    let Some(code) = assemble(test, WaveSize::W32, "v_nop") else { return };
    let found = findings(&linked(compute(), code.words, Placement::Adjacent));
    assert_eq!(found.iter().map(|f| f.rule).collect::<Vec<_>>(), [CodeRule::End]);
}

#[test]
fn what_is_used_is_declared() {
    let test = "rules::what_is_used_is_declared";
    let used = |register: &str, mark: &str| {
        format!(
            "{mark} s_mov_b32 {register}, 0
            v_mov_b32 v2, 0
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &used("s23", ""));
    breaks(test, compute, CodeRule::Registers, &used("s24", ">"));
    let wide = "> global_load_dword v16, v0, s[2:3]\ns_endpgm";
    breaks(test, compute, CodeRule::Registers, wide);
    keeps(test, compute, &wide.replace("> ", "").replace("v16", "v15"));
    // A register pair that starts at an odd register.
    breaks(test, compute, CodeRule::Operands, "> .long 0xbe8d0480\ns_endpgm");
    // Three scalar values.
    let bus = "> .long 0xd54b0002\n.long 0x00100602\nglobal_store_dword v0, v2, s[2:3]\ns_endpgm";
    breaks(test, compute, CodeRule::Operands, bus);
}

#[test]
fn what_leaves_the_shader_is_declared_and_done() {
    let test = "rules::what_leaves_the_shader_is_declared_and_done";
    let position = |done: &str, more: &str| format!("{more}\nexp pos0 v4, v5, v6, v7 {done}\ns_nop 0");
    keeps(test, vertex, &position("done", ""));
    breaks(test, vertex, CodeRule::Export, &position("done", "> exp param5 v4, v4, v4, v4"));
    breaks(test, vertex, CodeRule::Export, &position("done", "> exp mrt0 v4, v4, v4, v4"));
    breaks(test, vertex, CodeRule::Export, &position("done", "> exp pos1 v4, v4, v4, v4"));
    let Some(code) = assemble(test, WaveSize::W32, &position("", "")) else { return };
    let found = findings(&linked(vertex(), code.words, Placement::Adjacent));
    assert_eq!(found.iter().map(|f| (f.rule, f.place.part)).collect::<Vec<_>>(), [(CodeRule::Export, "epilog")]);
    let color = |attribute: u32, mark: &str| {
        format!(
            "s_mov_b32 m0, s4
            {mark} v_interp_p1_f32 v2, v0, attr{attribute}.x
            v_interp_p2_f32 v2, v1, attr0.x
            v_mov_b32 v3, v2"
        )
    };
    keeps(test, fragment, &color(0, ""));
    breaks(test, fragment, CodeRule::Export, &color(3, ">"));
}

#[test]
fn joints_are_crossed() {
    let test = "rules::joints_are_crossed";
    let body = |wait: &str| {
        format!(
            "v_mov_b32 v2, 0
            v_mov_b32 v3, 0
            global_load_dword v0, v2, s[2:3]
            {wait}"
        )
    };
    // Its descriptor set pointer is one register, whose high half is added.
    let text = |wait: &str| format!("s_mov_b32 s3, s2\n{}", body(wait));
    keeps(test, fragment, &text("s_waitcnt vmcnt(0)"));
    let Some(code) = assemble(test, WaveSize::W64, &text("")) else { return };
    for placement in [Placement::Adjacent, Placement::Chained] {
        let found = findings(&linked(fragment(), code.words.clone(), placement));
        let finding = found.first().expect("a finding");
        assert_eq!(
            (finding.rule, finding.place.part, finding.register.as_deref()),
            (CodeRule::Wait, "epilog", Some("v0"))
        );
        assert_eq!(finding.issued.as_ref().map(|i| i.part), Some("body"), "{finding}");
    }
}

#[test]
fn any_bytes_are_judged_or_refused() {
    let Some(code) = assemble("rules::any_bytes_are_judged_or_refused", WaveSize::W32, "s_endpgm") else { return };
    let elf = linked(compute(), code.words, Placement::Adjacent);
    for cut in 0..elf.len() {
        let _ = check(&elf[..cut]);
    }
    for at in 0..elf.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut other = elf.clone();
            other[at] ^= flip;
            let _ = check(&other);
        }
    }
}
