//! What an engineer looks at: listings, differences, phases, the phase that breaks a shader.

use crate::command::{LINK, folder, good, refused};
use crate::support::root;
use std::fs;
use std::process::Command;

#[test]
fn inspect_lists_code_by_itself_with_joints_and_relocations() {
    let dir = folder();
    let dir = dir.path();
    good(dir, &["compile", "ui.frag.spv", "-o", "f.elf"]);
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    // Without any other program.
    let inspect = |file: &str| {
        let out = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .current_dir(dir)
            .env("PATH", dir)
            .args(["inspect", file])
            .output();
        String::from_utf8(out.expect("the program").stdout).expect("text")
    };
    let part = inspect("f.elf");
    assert!(part.contains("──── 0x0000 _amdgpu_ps_main (128 bytes)\n"), "{part}");
    assert!(
        part.contains("──── 0x0080 joint dovetail.next: the part that this one continues in\n\ts_branch 0 "),
        "{part}"
    );
    assert!(part.contains("  doff_0_0_s: byte offset of the sampler descriptor of set 0 binding 0\n"), "{part}");
    let pipeline = inspect("p.elf");
    for heading in [
        "prolog _amdgpu_vs_main (",
        "body _amdgpu_vs_main_fetchless (",
        "epilog dovetail_param_export (",
        "body _amdgpu_ps_main (",
    ] {
        assert!(
            pipeline.lines().any(|line| line.starts_with("──── ") && line.contains(heading)),
            "{heading}: {pipeline}"
        );
    }
    // The fragment stage has another wave size than the vertex stage.
    assert!(pipeline.contains("\ts_wqm_b64 exec, exec "), "{pipeline}");
    assert!(pipeline.contains(" × s_nop)"), "{pipeline}");
    // Words that are no instruction.
    let mut broken = fs::read(dir.join("f.elf")).unwrap();
    let at = broken.windows(4).position(|word| word == 0xbefe_0a7e_u32.to_le_bytes()).expect("s_wqm_b64");
    broken[at..at + 4].copy_from_slice(&[0xff; 4]);
    fs::write(dir.join("broken.elf"), broken).unwrap();
    assert!(inspect("broken.elf").contains("\t.long 0xffffffff "));
}

#[test]
fn a_module_is_compared_in_every_build() {
    let dir = folder();
    let names =
        |out: &str| out.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let out = good(dir.path(), &["diff", "ui.frag.spv", "--counts"]);
    let expected = if cfg!(feature = "llvm") { ["native", "llvm"] } else { ["default", "plain"] };
    assert_eq!(names(&out)[..2], expected, "{out}");
    let out = good(dir.path(), &["diff", "ui.frag.spv", "--counts", "--disable", "schedule"]);
    let expected = if cfg!(feature = "llvm") { ["native", "llvm"] } else { ["given", "default"] };
    assert_eq!(names(&out)[..2], expected, "{out}");
}

#[test]
fn options_that_this_build_cannot_follow_are_refused_at_once() {
    let dir = folder();
    for command in
        [&["populate", "ui.vert.spv", "--cache", "c"][..], &["compile", "ui.vert.spv"], &["diff", "ui.vert.spv"]]
    {
        let with = |option: &[&str], code: i32| refused(dir.path(), &[command, option].concat(), code);
        assert!(with(&["--scheduler", "bogus"], 2).contains("--scheduler"));
        assert!(with(&["--opt-level", "9"], 2).contains("--opt-level"));
        if !cfg!(feature = "llvm") {
            for option in [["--backend", "llvm"], ["--scheduler", "max-ilp"], ["--opt-level", "1"]] {
                assert!(with(&option, 2).contains("this build does not have it"), "{option:?}");
            }
        }
    }
    assert!(!dir.path().join("c").exists(), "nothing was done");
}

#[test]
fn every_step_is_dumped_timed_and_disabled() {
    let dir = folder();
    let dir = dir.path();
    let help = good(dir, &["compile", "--help"]);
    let phases = help.split_once("Phases to dump: ").expect("the phases").1;
    let phases: Vec<&str> =
        phases.split_once('.').expect("an end").0.split([',', ' ', '\n']).filter(|name| !name.is_empty()).collect();
    assert_eq!(phases.contains(&"llvm-opt"), cfg!(feature = "llvm"), "{phases:?}");
    let dumps: Vec<&str> = phases.iter().flat_map(|phase| ["--dump", phase]).collect();
    let all = good(dir, &[&["compile", "ui.frag.spv"], &dumps[..]].concat());
    for phase in phases.iter().filter(|phase| !["llvm", "llvm-opt", "asm"].contains(phase)) {
        assert!(all.contains(&format!("; ---- {phase}\n")), "{phase}");
    }
    let steps = [
        "constants",
        "promote",
        "number",
        "jumps",
        "ifs",
        "unroll",
        "rotate",
        "hoist",
        "licm",
        "early",
        "vectors",
        "contract",
        "dce",
        "sink",
        "reload",
        "blocks",
    ];
    let timed: serde_json::Value =
        serde_json::from_str(&good(dir, &["compile", "ui.frag.spv", "--timings", "--json"])).unwrap();
    for step in steps {
        assert!(timed.as_array().unwrap().iter().any(|row| row["phase"] == step), "{step}");
        let without =
            refused(dir, &["compile", "ui.frag.spv", "--disable", step, "--dump", step, "--dump", "optimise"], 0);
        // The lowering removes unused code too.
        assert_eq!(without.contains(&format!("the phase `{step}` did not run")), step != "dce", "{step}: {without}");
    }
    // With all of them the request is the same, and so is the key.
    good(dir, &["populate", "ui.frag.spv", "--cache", "c"]);
    assert!(good(dir, &["populate", "ui.frag.spv", "--cache", "c"]).contains("already cached"));
    assert!(good(dir, &["populate", "ui.frag.spv", "--cache", "c", "--disable", "hoist"]).contains("  compiled"));
    assert!(refused(dir, &["compile", "ui.frag.spv", "--dump", "nothing"], 2).contains("the phases are upper, "));
}

#[test]
fn bisect_says_what_it_cannot_judge() {
    let dir = folder();
    let out =
        Command::new(env!("CARGO_BIN_EXE_dovetail")).current_dir(dir.path()).args(["bisect", "ui.frag.spv"]).output();
    let out = out.expect("the program");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(3), "{text}");
    assert!(
        text.contains("ui.frag.spv main: not judged: ") && text.contains("execution model Fragment without a draw"),
        "{text}"
    );
}

#[test]
fn a_graph_has_a_legend() {
    let dir = folder();
    good(dir.path(), &["compile", "ui.frag.spv", "--graph", "g.svg"]);
    let graph = fs::read_to_string(dir.path().join("g.svg")).unwrap();
    for text in
        ["edge that the wave takes", "edge that lanes take", "memory access or export", "value in a scalar register"]
    {
        assert!(graph.contains(&format!(">{text}")), "{text}");
    }
}

/// Figures of the README's second picture that its caption names.
#[test]
fn the_picture_of_frame_times_says_what_it_shows() {
    let picture = fs::read_to_string(root().join("docs/img/frames.svg")).unwrap();
    assert_eq!(picture.matches(">logarithmic</text>").count(), 3, "each axis");
    assert!(picture.contains(">compile at first use: frames wait for the compiler</text>"));
    // Bars of the first panel that are not late but taller than 10 ms, which is at 101.7.
    let bars = picture.split("<path class=\"frame\" d=\"").nth(1).expect("bars").split('"').next().unwrap_or_default();
    let tall = bars.split('M').filter_map(|bar| {
        let x: f64 = bar.split(' ').next()?.parse().ok()?;
        let y: f64 = bar.split('V').nth(1)?.split('h').next()?.parse().ok()?;
        (y < 101.0).then(|| ((x - 58.0) / (850.0 - 58.0) * 600.0).round().to_string())
    });
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let named =
        tall.inspect(|frame| assert!(readme.contains(frame), "the caption does not name frame {frame}")).count();
    assert_eq!(named, 4);
}

#[test]
fn a_picture_of_a_run_is_opaque() {
    let dir = folder();
    let dir = dir.path();
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    fs::write(dir.join("inputs.toml"), crate::shaders::UI_INPUTS).unwrap();
    good(dir, &["run", "p.elf", "--state", "state.toml", "--bindings", "inputs.toml", "-o", "out"]);
    let picture = fs::read(dir.join("out/target0.png")).unwrap();
    // The colour type in the header: RGB, not RGBA.
    assert_eq!(picture[25], 2);
    assert_eq!(fs::metadata(dir.join("out/target0.bin")).unwrap().len(), 64);
}
