//! `link --no-compile` without something that it needs: exit code 4, what is missing, and the command that adds it.

use crate::command::{LINK, dovetail, folder, glsl, good, refused, said};
use std::fs;

#[test]
fn a_cache_without_anything_lacks_both_parts() {
    let dir = folder();
    let link = [&LINK[..], &["--no-compile", "-o", "p.elf"]].concat();
    let empty = refused(dir.path(), &link, 4);
    assert!(empty.contains("the cache c holds no parts"), "{empty}");
    for part in ["lacks the vertex shader (ui.vert.spv)", "lacks the fragment shader (ui.frag.spv)"] {
        assert!(empty.contains(part), "{empty}");
    }
    assert!(empty.contains("`dovetail populate ui.vert.spv ui.frag.spv --cache c` adds it"), "{empty}");
    assert!(!dir.path().join("p.elf").exists());
    let json = dovetail(dir.path(), &[&link[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["missing"][1]["file"], "ui.frag.spv");
    // One of two.
    good(dir.path(), &["populate", "ui.vert.spv", "--cache", "c"]);
    let half = refused(dir.path(), &link, 4);
    assert!(half.contains("`dovetail populate ui.frag.spv --cache c`") && !half.contains("vertex"), "{half}");
    // The command that it names.
    good(dir.path(), &["populate", "ui.frag.spv", "--cache", "c"]);
    assert!(good(dir.path(), &link).starts_with("linked "));
}

#[test]
fn a_cache_that_links_have_filled_serves_without_a_compiler() {
    let dir = folder();
    good(dir.path(), &[&LINK[..], &["-o", "p.elf"]].concat());
    let again = good(dir.path(), &[&LINK[..], &["--no-compile", "-o", "q.elf"]].concat());
    assert!(again.starts_with("linked ") && again.matches("cache").count() == 2, "{again}");
    assert!(fs::read(dir.path().join("p.elf")).unwrap() == fs::read(dir.path().join("q.elf")).unwrap());
}

#[test]
fn a_damaged_cache_is_said_to_be_damaged() {
    let dir = folder();
    good(dir.path(), &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c"]);
    let file = dir.path().join("c/lmdb/data.mdb");
    let whole = fs::read(&file).unwrap();
    let link = [&LINK[..], &["--no-compile", "-o", "p.elf"]].concat();
    let mut flipped = whole.clone();
    // The pages of the trees; the meta pages stay.
    flipped[2 * 4096..].iter_mut().step_by(8).for_each(|byte| *byte ^= 0x40);
    for bytes in [whole[..4096].to_vec(), vec![0xff; whole.len()], flipped] {
        fs::write(&file, &bytes).unwrap();
        let out = refused(dir.path(), &link, 4);
        assert!(out.contains("damaged") && out.contains("lacks the vertex shader"), "{} bytes: {out}", bytes.len());
    }
    // A process may have been killed just after it created the file.
    fs::write(&file, b"").unwrap();
    assert!(refused(dir.path(), &link, 4).contains("holds no parts"));
}

#[test]
fn a_missing_variant_is_named_with_the_command_that_makes_it() {
    let dir = folder();
    let state = fs::read_to_string(dir.path().join("state.toml")).unwrap();
    let sampled =
        state.replace("sample_shading = false", "sample_shading = true").replace("samples = 0", "samples = 4");
    let viewed = state.replace("view_mask = 0", "view_mask = 3");
    good(dir.path(), &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c"]);
    let link = [&LINK[..], &["--no-compile", "-o", "p.elf"]].concat();
    for (state, what, file) in [
        (&sampled, "`sample shading` of the fragment shader", "ui.frag.spv"),
        (&viewed, "`view mask` of the vertex shader", "ui.vert.spv"),
    ] {
        fs::write(dir.path().join("state.toml"), state).unwrap();
        let out = refused(dir.path(), &link, 4);
        assert!(out.contains(&format!("lacks the variant for {what} ({file})")), "{out}");
        assert!(out.contains(&format!("`dovetail populate {file} --cache c --variants`")), "{out}");
        assert!(!out.contains("whole"), "{out}");
    }
    good(dir.path(), &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c", "--variants"]);
    assert!(good(dir.path(), &link).starts_with("linked "));
}

#[test]
fn a_missing_specialization_is_named_with_its_value() {
    let test = "a_missing_specialization_is_named_with_its_value";
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let source = "#version 450\nlayout(local_size_x = 8) in; layout(constant_id = 3) const int ROUNDS = 2;
        layout(set = 0, binding = 0) buffer B { float b[]; };
        void main() { for (int i = 0; i < ROUNDS; i++) b[gl_GlobalInvocationID.x * ROUNDS + i] *= 1.5; }";
    let Some(()) = glsl(test, dir, "k.comp", source) else { return };
    good(dir, &["state", "template", "k.comp.spv", "-o", "k.toml"]);
    good(dir, &["populate", "k.comp.spv", "--cache", "c"]);
    let link = ["link", "--cs", "k.comp.spv", "--state", "k.toml", "--cache", "c", "--no-compile", "-o", "k.elf"];
    good(dir, &link);
    // The template names the constant; without the signs it is a state with that value.
    let template = fs::read_to_string(dir.join("k.toml")).unwrap();
    assert!(template.contains("`ROUNDS`, 32 bits, shapes the code"), "{template}");
    let uncommented = ["[[specialization]]", "stage", "id", "value"]
        .iter()
        .fold(template, |text, key| text.replace(&format!("# {key}"), key));
    let given = uncommented.replace("value = 2", "value = 7");
    fs::write(dir.join("k.toml"), given).unwrap();
    let out = refused(dir, &link, 4);
    assert!(out.contains("the compute shader (k.comp.spv) with specialization constant 3 (ROUNDS) = 7"), "{out}");
    assert!(out.contains("--spec"), "{out}");
}

#[test]
fn a_missing_whole_pipeline_is_named_with_the_reason() {
    let test = "a_missing_whole_pipeline_is_named_with_the_reason";
    let dir = folder();
    let dir = dir.path();
    let source = "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(gl_PrimitiveID); }";
    let Some(()) = glsl(test, dir, "ids.frag", source) else { return };
    fs::rename(dir.join("ids.frag.spv"), dir.join("ui.frag.spv")).unwrap();
    good(dir, &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c"]);
    let link = [&LINK[..], &["-o", "p.elf"]].concat();
    let out = refused(dir, &[&link[..], &["--no-compile"]].concat(), 4);
    assert!(out.contains("compiled as a whole") && out.contains("primitive id"), "{out}");
    assert!(out.contains("without --no-compile"), "{out}");
    assert!(good(dir, &link).starts_with("compiled whole p.elf: "));
    // From now on the cache has it, and the output says so.
    let again = dovetail(dir, &[&link[..], &["--no-compile"]].concat());
    let text = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(text.starts_with("compiled whole before p.elf: "), "{text}{}", said(&again));
}
