//! State files and the inputs of a run: what is refused with its place, and what is told.

use crate::command::{LINK, dovetail, folder, glsl, good, refused, said};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn values_that_a_state_cannot_have_are_refused_with_their_line() {
    let dir = folder();
    let dir = dir.path();
    let state = fs::read_to_string(dir.join("state.toml")).unwrap();
    for (from, to, why) in [
        ("write_mask = 15", "write_mask = 16", "r=1 g=2 b=4 a=8"),
        ("push_constant_bytes = 16", "push_constant_bytes = 6", "a multiple of 4"),
        ("divisor = 1", "divisor = 2", "only with `rate = \"instance\"`"),
        ("samples = 0", "samples = 3", "1, 2, 4, 8 or 16"),
        ("clip_plane_mask = 0", "clip_plane_mask = 64", "six planes"),
    ] {
        assert!(state.contains(from), "{from}");
        let line = 1 + state.lines().position(|line| line == from).expect("the line");
        fs::write(dir.join("wrong.toml"), state.replacen(from, to, 1)).unwrap();
        let link = [&LINK[..6], &["wrong.toml", "--cache", "c", "-o", "p.elf"]].concat();
        let out = refused(dir, &link, 2);
        assert!(
            out.contains("wrong.toml: ") && out.contains(&format!("line {line}, ")) && out.contains(why),
            "{to}: {out}"
        );
    }
}

#[test]
fn a_state_may_come_from_a_pipe() {
    let dir = folder();
    let dir = dir.path();
    let link = "link --vs ui.vert.spv --fs ui.frag.spv --cache c -o p.elf --state";
    let program = env!("CARGO_BIN_EXE_dovetail");
    for shell in
        [format!("cat state.toml | '{program}' {link} /dev/stdin"), format!("'{program}' {link} <(cat state.toml)")]
    {
        let out = Command::new("bash").current_dir(dir).args(["-c", &shell]).output().expect("bash");
        assert!(out.status.success(), "{shell}: {}", said(&out));
    }
    // Also an ELF and inputs.
    let mut verify = Command::new(program);
    let mut verify = verify
        .args(["verify", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    verify.stdin.take().expect("a pipe").write_all(&fs::read(dir.join("p.elf")).unwrap()).expect("written");
    assert!(verify.wait().expect("the program").success());
}

#[test]
fn a_template_names_what_it_leaves_open() {
    let test = "a_template_names_what_it_leaves_open";
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let source = "#version 450\nlayout(local_size_x_id = 0) in; layout(constant_id = 5) const float SCALE = 1.5;
        layout(set = 0, binding = 0) buffer B { float b[]; };
        void main() { b[gl_GlobalInvocationID.x] *= SCALE; }";
    let Some(()) = glsl(test, dir, "k.comp", source) else { return };
    let template = good(dir, &["state", "template", "k.comp.spv"]);
    assert!(template.contains("[raster]\nprimitive = \"triangles\"\n"), "{template}");
    assert!(
        template.contains("# id = 0\n# value = 1\n") && template.contains("`SCALE`, 32 bits, filled in by the link"),
        "{template}"
    );
    // As it is, and with the constants given.
    let given = ["[[specialization]]", "stage", "id", "value"]
        .iter()
        .fold(template.clone(), |text, key| text.replace(&format!("# {key}"), key));
    for (name, text) in [("as-it-is.toml", &template), ("given.toml", &given)] {
        fs::write(dir.join(name), text).unwrap();
        good(dir, &["link", "--cs", "k.comp.spv", "--state", name, "--cache", "c", "-o", "k.elf"]);
    }
    assert!(given.contains("\n[[specialization]]"));
}

#[test]
fn a_run_needs_a_state_and_ends_at_its_limit() {
    let dir = folder();
    let dir = dir.path();
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    fs::write(dir.join("inputs.toml"), crate::shaders::UI_INPUTS).unwrap();
    let run = ["run", "p.elf", "--bindings", "inputs.toml", "-o", "out"];
    let out = refused(dir, &run, 2);
    assert!(out.contains("give --state"), "{out}");
    let out = refused(dir, &[&run[..], &["--state", "state.toml", "--limit", "5"]].concat(), 3);
    assert!(out.contains("it has run 5 instructions and has not ended; --limit raises this"), "{out}");
    assert!(!dir.join("out").exists());
}

#[test]
fn messages_name_what_the_user_knows() {
    let test = "messages_name_what_the_user_knows";
    let dir = folder();
    let dir = dir.path();
    // A vertex shader alone is compiled for no other stage.
    let state = good(dir, &["state", "template", "ui.vert.spv"]);
    fs::write(dir.join("v.toml"), state).unwrap();
    let out =
        good(dir, &["link", "--vs", "ui.vert.spv", "--state", "v.toml", "--cache", "c", "--whole", "-o", "v.elf"]);
    assert!(!out.contains("for the other stage"), "{out}");
    // Each shader and each variant under a name of its own.
    let out = dovetail(dir, &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "v", "--variants", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let mut names: Vec<&str> =
        json["shaders"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ui.frag", "ui.frag (sample shading)", "ui.vert", "ui.vert (view mask)"]);
    // An unsupported feature is one of the shader, not of a pass of the compiler.
    let source = "#version 460\n#extension GL_EXT_fragment_shader_barycentric : require
        layout(location = 0) pervertexEXT in vec4 v[]; layout(location = 0) out vec4 c; void main() { c = v[0]; }";
    let Some(()) = glsl(test, dir, "b.frag", source) else { return };
    let out = dovetail(dir, &["compile", "b.frag.spv", "--wave", "32"]);
    assert!(!said(&out).contains("lower_"), "{}", said(&out));
}
