//! The program as users run it: populate, template, link, inspect, verify, and its error messages.

use crate::{shaders, support};
use std::path::Path;
use std::process::{Command, Output};

fn dovetail(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dovetail")).current_dir(dir).args(args).output().unwrap()
}

/// Standard output of a run that must succeed.
fn good(dir: &Path, args: &[&str]) -> String {
    let out = dovetail(dir, args);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{args:?}: {}\n{text}\n{}", out.status, String::from_utf8_lossy(&out.stderr));
    text
}

const STAGES: [&str; 3] = ["ui.vert", "ui.frag", "gemm_f32.comp"];

/// A folder with `in/`, and `state.toml` for the pair, `cs.toml` for the compute shader.
fn prepared(test: &str) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    for name in STAGES {
        shaders::spirv(test, &dir.path().join("in"), name)?;
    }
    good(dir.path(), &["state", "template", "in/ui.vert.spv", "in/ui.frag.spv", "-o", "state.toml"]);
    good(dir.path(), &["state", "template", "in/gemm_f32.comp.spv", "-o", "cs.toml"]);
    Some(dir)
}

const LINK: [&str; 9] =
    ["link", "--vs", "in/ui.vert.spv", "--fs", "in/ui.frag.spv", "--state", "state.toml", "--cache", "c"];

#[test]
fn from_spirv_to_a_pipeline_that_loads() {
    let Some(dir) = prepared("from_spirv_to_a_pipeline_that_loads") else { return };
    let dir = dir.path();
    let first = good(dir, &["populate", "in", "--cache", "c"]);
    assert!(first.contains("3  100.0 %  compiled"), "{first}");
    let again = good(dir, &["populate", "in", "--cache", "c"]);
    assert!(again.contains("3  100.0 %  already cached"), "{again}");

    for placement in ["adjacent", "chained"] {
        let said = good(dir, &[&LINK[..], &["-o", "p.elf", "--layout", placement]].concat());
        assert!(said.starts_with("linked ") && said.matches("cache").count() == 2, "{said}");
        let verified = good(dir, &["verify", "--code", "p.elf"]);
        assert!(verified.starts_with("p.elf: loads (vertex, fragment)"), "{verified}");
        assert!(verified.contains("fragment: ") && verified.contains("blocks followed"), "{verified}");
        let shown = good(dir, &["inspect", "p.elf", "--no-code"]);
        assert!(shown.starts_with("linked pipeline ELF") && shown.contains("SPI_SHADER_COL_FORMAT"), "{shown}");
    }
    good(dir, &[&LINK[..], &["-o", "n.elf", "--metadata", "3"]].concat());
    assert!(good(dir, &["verify", "n.elf"]).contains("loads"));
    assert!(good(dir, &["inspect", "n.elf", "--no-code"]).contains(".spi_shader_col_format"));
    let wrong = dovetail(dir, &["link", "--vs", "in/gemm_f32.comp.spv", "--state", "cs.toml", "-o", "x.elf"]);
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2) && said.contains("no vertex entry point") && said.contains("`main` (GLCompute)"),
        "{said}"
    );
    let said = good(dir, &[&LINK[..], &["-o", "w.elf", "--whole"]].concat());
    assert!(said.starts_with("compiled whole "), "{said}");
    assert!(good(dir, &["verify", "w.elf"]).contains("loads"));
    good(dir, &["link", "--cs", "in/gemm_f32.comp.spv", "--state", "cs.toml", "--cache", "c", "-o", "k.elf"]);
    let verified = good(dir, &["verify", "--code", "--json", "k.elf"]);
    assert!(verified.contains("\"violations\": []") && verified.contains("\"findings\": []"), "{verified}");
}

#[test]
fn a_pipeline_runs_without_a_gpu() {
    let Some(dir) = prepared("a_pipeline_runs_without_a_gpu") else { return };
    let dir = dir.path();
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    std::fs::write(dir.join("inputs.toml"), shaders::UI_INPUTS).unwrap();
    let run = ["run", "p.elf", "--state", "state.toml", "--bindings", "inputs.toml", "-o", "out", "--stats"];
    assert!(good(dir, &run).contains("interpolation"));
    assert_eq!(std::fs::read(dir.join("out/target0.bin")).unwrap(), [255, 128, 0, 255].repeat(16));
    assert!(std::fs::read(dir.join("out/target0.png")).unwrap().starts_with(b"\x89PNG"));
}

/// Each line of a trace with a register change: the instruction before it, the change.
fn changes(trace: &str) -> Vec<(&str, Vec<&str>)> {
    let mut last = "";
    let mut all = Vec::new();
    for line in trace.lines() {
        if line.starts_with("0x") {
            last = line;
        } else if line.starts_with(' ') {
            all.push((last, line.split_whitespace().collect()));
        }
    }
    all
}

#[test]
fn an_invocation_of_a_dispatch_is_followed() {
    let Some(dir) = prepared("an_invocation_of_a_dispatch_is_followed") else { return };
    let dir = dir.path();
    let source = "#version 450\nlayout(local_size_x = 8, local_size_y = 2) in;
        layout(set = 0, binding = 0) buffer B { float b[]; };
        void main() { uint i = gl_GlobalInvocationID.y * 16 + gl_GlobalInvocationID.x; b[i] = b[i] * 1.5; }";
    std::fs::write(dir.join("k.comp"), source).unwrap();
    let Some(spirv) = support::glsl("an_invocation_of_a_dispatch_is_followed", &dir.join("k.comp"), "vulkan1.1") else {
        return;
    };
    std::fs::write(dir.join("k.comp.spv"), spirv).unwrap();
    good(dir, &["state", "template", "k.comp.spv", "-o", "k.toml"]);
    good(dir, &["link", "--cs", "k.comp.spv", "--state", "k.toml", "--cache", "c", "-o", "k.elf"]);
    let data: Vec<String> = (0..64).map(|n| format!("{n}.0")).collect();
    let inputs = format!(
        "grid = [2, 2, 1]\nbindings = [{{ set = 0, binding = 0, bound = {{ storage_buffer = {{ f32 = [{}] }} }} }}]",
        data.join(", ")
    );
    std::fs::write(dir.join("k.in.toml"), inputs).unwrap();
    let run = ["run", "k.elf", "--state", "k.toml", "--bindings", "k.in.toml"];
    // Column 11, row 3: element 59, of workgroup 1, 1.
    let trace = good(dir, &[&run[..], &["--trace", "global:11,3,0"]].concat());
    assert!(trace.starts_with("workgroup 1, 1, 0: lane 11 of "), "{trace}");
    let changes = changes(&trace);
    let made = |what: &str, old: &str, new: &str| {
        changes.iter().any(|(inst, line)| inst.contains(what) && line[4..] == [old, "->", new])
    };
    assert!(made("v_mul_f32", "59", "88.5"), "{trace}");
    assert!(trace.contains(" body ") && trace.trim_end().ends_with("s_endpgm"), "{trace}");
    assert_eq!(good(dir, &[&run[..], &["--trace", "local:1,1,0:3,1,0"]].concat()), trace);
    // Addresses of uploaded code start at the address in the file.
    assert!(trace.lines().nth(1).is_some_and(|line| line.starts_with("0x0000 ")), "{trace}");

    let json = good(dir, &[&run[..], &["--trace", "global:11,3,0", "--json"]].concat());
    let values: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(values[0]["invocation"]["lane"], 11);
    let product = values.iter().find(|v| v["instruction"]["text"].as_str().is_some_and(|t| t.starts_with("v_mul_f32")));
    let product = &product.expect("a product")["instruction"];
    assert_eq!(product["changes"][0]["new"], 88.5f32.to_bits());
    assert_eq!((&product["part"], &product["symbol"]), (&"body".into(), &"_amdgpu_cs_main".into()));

    let none = dovetail(dir, &[&run[..], &["--trace", "global:16,0,0"]].concat());
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("nothing was run"));

    // What does not fit the state is said.
    let given = std::fs::read_to_string(dir.join("k.in.toml")).unwrap();
    let said = |inputs: String, code: i32, words: &[&str]| {
        std::fs::write(dir.join("other.toml"), inputs).unwrap();
        let run = dovetail(dir, &["run", "k.elf", "--state", "k.toml", "--bindings", "other.toml"]);
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(code), "{errors}");
        assert!(words.iter().all(|words| errors.contains(words)), "{errors}");
        assert_eq!(errors.is_empty(), words.is_empty(), "{errors}");
    };
    said(given.clone(), 0, &[]);
    let addressed = "bindings = [{ set = 9, binding = 0, bound = { physical_storage_buffer = { f32 = [1.0] } } }, ";
    said(given.replace("bindings = [", addressed), 0, &[]);
    said(given.replace("grid = [2, 2, 1]\n", ""), 2, &["nothing would run", "other.toml"]);
    let elsewhere = ["set 0, binding 3 of the inputs", "set 0, binding 0 of the layout has no input"];
    said(given.replace("binding = 0", "binding = 3"), 0, &elsewhere);
}

#[test]
fn a_vertex_and_a_pixel_are_followed_through_all_parts() {
    let Some(dir) = prepared("a_vertex_and_a_pixel_are_followed_through_all_parts") else { return };
    let dir = dir.path();
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    std::fs::write(dir.join("inputs.toml"), shaders::UI_INPUTS).unwrap();
    let run = ["run", "p.elf", "--state", "state.toml", "--bindings", "inputs.toml", "--trace"];
    let vertex = good(dir, &[&run[..], &["vertex:1"]].concat());
    assert!(vertex.starts_with("vertex 1 of instance 0: lane 1 of "), "{vertex}");
    let parts = |trace: &str| {
        let mut all: Vec<String> =
            trace.lines().filter_map(|l| Some(l.strip_prefix("0x")?.split(' ').nth(1)?.to_owned())).collect();
        all.dedup();
        all
    };
    assert_eq!(parts(&vertex), ["prolog", "body", "epilog"]);
    // The second vertex is at 3, -1.
    let fetched = changes(&vertex).into_iter().filter(|(inst, _)| inst.contains("buffer_load_format_xy"));
    let fetched: Vec<String> = fetched.map(|(_, line)| line[6].to_owned()).collect();
    assert_eq!(fetched[..2], ["3", "-1"], "{vertex}");

    let pixel = good(dir, &[&run[..], &["pixel:2,1:0"]].concat());
    assert!(pixel.starts_with("pixel 2, 1 of primitive 0: lane "), "{pixel}");
    assert_eq!(parts(&pixel), ["body", "epilog"]);
    let sampled = changes(&pixel).into_iter().filter(|(inst, _)| inst.contains("image_sample"));
    assert!(sampled.clone().any(|(_, line)| line.get(6) == Some(&"0.5019608")), "{pixel}");
    assert_eq!(dovetail(dir, &[&run[..], &["pixel:2,1:1"]].concat()).status.code(), Some(2));

    // Where the state and the draw differ is said, and the draw goes on.
    let said = |state: &str, from: &str, to: &str| {
        std::fs::write(dir.join("other.toml"), shaders::UI_INPUTS.replace(from, to)).unwrap();
        let run = dovetail(dir, &["run", "p.elf", "--state", state, "--bindings", "other.toml"]);
        assert_eq!(run.status.code(), Some(0));
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    assert_eq!(said("state.toml", "", ""), "");
    let target = "location = 0, format = \"R8G8B8A8_UNORM\"";
    let other = said("state.toml", target, "location = 0, format = \"R16G16B16A16_SFLOAT\"");
    assert!(other.contains("target 0 has the format R16G16B16A16_SFLOAT, the attachment of the state "), "{other}");
    let other = said("state.toml", target, "location = 3, format = \"R8G8B8A8_UNORM\"");
    assert!(other.contains("target 3 is no attachment of the state"), "{other}");
    let other = said("state.toml", "vertices = 3", "vertices = 3\nsamples = 4");
    assert!(other.contains("samples: the state has 1, the draw 4"), "{other}");
    let covered = std::fs::read_to_string(dir.join("state.toml")).unwrap();
    let covered = covered.replace("alpha_to_coverage = false", "alpha_to_coverage = true");
    std::fs::write(dir.join("covered.toml"), covered).unwrap();
    assert!(said("covered.toml", "", "").contains("alpha_to_coverage"));
}

#[test]
fn a_fragment_shader_knows_its_primitive() {
    let test = "a_fragment_shader_knows_its_primitive";
    let Some(dir) = prepared(test) else { return };
    let dir = dir.path();
    let vertex = "#version 450\nvoid main() {
        gl_Position = vec4(gl_VertexIndex / 2 - 1.0, gl_VertexIndex % 2 * 2 - 1, 0.5, 1.0); }";
    let fragment = "#version 450\nlayout(location = 0) out uvec2 color;
        void main() { color = uvec2(gl_PrimitiveID, 7); }";
    for (name, source) in [("n.vert", vertex), ("n.frag", fragment)] {
        std::fs::write(dir.join(name), source).unwrap();
        let Some(spirv) = support::glsl(test, &dir.join(name), "vulkan1.1") else { return };
        std::fs::write(dir.join(format!("{name}.spv")), spirv).unwrap();
    }
    good(dir, &["state", "template", "n.vert.spv", "n.frag.spv", "-o", "n.toml"]);
    let link = ["link", "--vs", "n.vert.spv", "--fs", "n.frag.spv", "--state", "n.toml", "--cache", "c", "-o", "n.elf"];
    assert!(good(dir, &link).contains("primitive id"), "an early vertex shader passes none on");
    // Four triangles of a strip, from left to right; vertices two to four are shared if the primitive id is not read.
    let inputs = "[draw]\ntopology = \"triangle_strip\"\nvertices = 6\nextent = [8, 8]
        targets = [{ location = 0, format = \"R32G32_UINT\" }]";
    std::fs::write(dir.join("n.in.toml"), inputs).unwrap();
    good(dir, &["run", "n.elf", "--state", "n.toml", "--bindings", "n.in.toml", "-o", "n"]);
    let pixels = std::fs::read(dir.join("n/target0.bin")).unwrap();
    let at = |x: usize, y: usize| pixels[8 * (8 * y + x)..][..8].to_vec();
    for (x, y, primitive) in [(0, 0, 0), (3, 7, 1), (4, 0, 2), (7, 7, 3)] {
        assert_eq!(at(x, y), [primitive, 0, 0, 0, 7, 0, 0, 0], "{x} {y}");
    }
}

#[test]
fn the_example_state_of_testdata_fits_its_shaders() {
    let Some(dir) = prepared("the_example_state_of_testdata_fits_its_shaders") else { return };
    let dir = dir.path();
    let example = support::root().join("testdata/state/ui.toml");
    std::fs::copy(example, dir.join("state.toml")).unwrap();
    assert!(good(dir, &[&LINK[..], &["-o", "p.elf"]].concat()).starts_with("linked "));
    assert!(good(dir, &["verify", "p.elf"]).contains("loads"));
    // Four floats from bytes, blended into an 8-bit target: 16-bit exports.
    let shown = good(dir, &["inspect", "p.elf"]);
    assert!(shown.contains("COL0 = 4") || shown.contains("0x00000004"), "{shown}");
}

#[test]
fn without_a_compiler_a_miss_is_not_cached() {
    let Some(dir) = prepared("without_a_compiler_a_miss_is_not_cached") else { return };
    let dir = dir.path();
    let link = [&LINK[..], &["-o", "p.elf", "--no-compile"]].concat();
    let empty = dovetail(dir, &link);
    assert_eq!(empty.status.code(), Some(4), "{}", String::from_utf8_lossy(&empty.stderr));
    good(dir, &["populate", "in/ui.vert.spv", "--cache", "c"]);
    let half = dovetail(dir, &link);
    assert_eq!(half.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&half.stderr).contains("the cache c lacks the fragment shader"));
    good(dir, &["populate", "in", "--cache", "c"]);
    assert!(good(dir, &link).starts_with("linked "));
}

#[test]
fn a_format_that_no_fetch_can_make_is_named() {
    let Some(dir) = prepared("a_format_that_no_fetch_can_make_is_named") else { return };
    let dir = dir.path();
    let state = std::fs::read_to_string(dir.join("state.toml")).unwrap();
    std::fs::write(dir.join("state.toml"), state.replacen("R32G32_SFLOAT", "BC1_RGB_UNORM_BLOCK", 1)).unwrap();
    let out = dovetail(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("BC1_RGB_UNORM_BLOCK"), "{said}");
}

#[test]
fn a_state_that_parts_cannot_follow_is_compiled_whole_and_says_why() {
    let Some(dir) = prepared("a_state_that_parts_cannot_follow_is_compiled_whole_and_says_why") else { return };
    let dir = dir.path();
    let source = "#version 450
        layout(location = 0) out vec4 color;
        void main() { color = vec4(gl_PrimitiveID); }";
    std::fs::write(dir.join("ids.frag"), source).unwrap();
    let Some(words) = support::glsl("a_state_that_parts_cannot_follow", &dir.join("ids.frag"), "vulkan1.1") else {
        return;
    };
    std::fs::write(dir.join("in/ui.frag.spv"), words).unwrap();
    let said = good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    assert!(
        said.starts_with("compiled whole p.elf: linking does not support state `primitive id in the fragment shader`"),
        "{said}"
    );
    assert!(good(dir, &["verify", "p.elf"]).contains("loads"));
}

#[test]
fn samples_and_views_are_linked_of_variants() {
    let Some(dir) = prepared("samples_and_views_are_linked_of_variants") else { return };
    let dir = dir.path();
    let state = std::fs::read_to_string(dir.join("state.toml")).unwrap();
    let changed = |pairs: &[(&str, &str)]| {
        let with = pairs.iter().fold(state.clone(), |state, (from, to)| state.replace(from, to));
        assert_ne!(state, with);
        std::fs::write(dir.join("state.toml"), with).unwrap();
    };
    changed(&[("sample_shading = false", "sample_shading = true"), ("samples = 0", "samples = 4")]);
    let link = [&LINK[..], &["-o", "p.elf"]].concat();
    // Without the variant and without a compiler, only the reason for a whole-pipeline compile can be reported.
    good(dir, &["populate", "in", "--cache", "c"]);
    let missing = dovetail(dir, &[&link[..], &["--no-compile"]].concat());
    assert!(!missing.status.success());
    good(dir, &["populate", "in", "--cache", "c", "--variants"]);
    assert!(good(dir, &[&link[..], &["--no-compile"]].concat()).starts_with("linked p.elf"));
    changed(&[("view_mask = 0", "view_mask = 3")]);
    assert!(good(dir, &[&link[..], &["--no-compile"]].concat()).starts_with("linked p.elf"));
    assert!(good(dir, &["verify", "p.elf"]).contains("loads"));
}

#[test]
fn the_same_bytes_for_any_number_of_jobs_and_either_store() {
    let Some(dir) = prepared("the_same_bytes_for_any_number_of_jobs_and_either_store") else { return };
    let dir = dir.path();
    let mut outputs = Vec::new();
    for (cache, jobs, store) in [("c1", "1", "lmdb"), ("c2", "3", "sled")] {
        good(dir, &["populate", "in", "--cache", cache, "--jobs", jobs, "--store", store]);
        good(dir, &[&LINK[..8], &[cache, "--store", store, "-o", "p.elf"]].concat());
        outputs.push(std::fs::read(dir.join("p.elf")).unwrap());
    }
    assert!(outputs[0] == outputs[1]);
}

#[test]
fn every_phase_can_be_dumped_and_unlinked_elfs_are_read_by_llvm() {
    let test = "every_phase_can_be_dumped_and_unlinked_elfs_are_read_by_llvm";
    let (Some(readelf), Some(objdump)) =
        (support::tool(test, "llvm-readelf-19"), support::tool(test, "llvm-objdump-19"))
    else {
        return;
    };
    let Some(dir) = prepared(test) else { return };
    let dir = dir.path();
    for name in STAGES {
        let file = format!("in/{name}.spv");
        let elf = dir.join(format!("{name}.elf"));
        let elf_text = elf.to_string_lossy();
        good(dir, &["compile", &file, "-o", &elf_text, "--verify-ir"]);
        let of_llvm = if cfg!(feature = "llvm") { &["llvm", "llvm-opt", "asm"][..] } else { &[] };
        for (backend, phases) in [
            (
                "native",
                &["upper", "lower", "lower_descriptors", "optimise", "select", "schedule", "allocate", "waits"][..],
            ),
            ("llvm", of_llvm),
        ] {
            for phase in phases {
                let said = good(dir, &["compile", &file, "--backend", backend, "--dump", phase]);
                assert!(said.starts_with(&format!("; ---- {phase}\n")), "{phase}: {said}");
                // The vertex shader's code has six instructions.
                let least = if name == "ui.vert" { 7 } else { 11 };
                assert!(said.lines().count() >= least, "{phase}");
            }
        }
        let graph = dir.join("graph.svg");
        good(dir, &["compile", &file, "--graph", &graph.to_string_lossy()]);
        let graph = std::fs::read_to_string(graph).expect("a picture");
        assert!(graph.starts_with("<svg") && graph.contains("class=\"vector\"") && graph.ends_with("</svg>\n"));
        for (tool, args) in [(&readelf, &["-a"][..]), (&objdump, &["-d", "-r"])] {
            let out = tool.output(&[args, &[&elf_text]].concat(), b"");
            assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
        }
        assert!(good(dir, &["inspect", &elf_text]).starts_with("unlinked stage ELF"));
    }
    let wrong = dovetail(dir, &["compile", "in/ui.vert.spv", "--dump", "nothing"]);
    assert_eq!(wrong.status.code(), Some(2));
    for (backend, limit) in [("native", "23"), ("llvm", "1"), ("native", "many")] {
        let args = ["compile", "in/ui.vert.spv", "--backend", backend, "--vgpr-limit", limit];
        let wrong = dovetail(dir, &args);
        assert_eq!(wrong.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&wrong.stderr).contains(limit), "{wrong:?}");
    }
}

#[test]
fn bad_input_is_named_and_nothing_else_is_lost() {
    let Some(dir) = prepared("bad_input_is_named_and_nothing_else_is_lost") else { return };
    let dir = dir.path();
    let good_module = std::fs::read(dir.join("in/ui.frag.spv")).unwrap();
    for cut in [24, 64, good_module.len() / 2 / 4 * 4, good_module.len() - 4] {
        std::fs::write(dir.join(format!("in/cut{cut}.spv")), &good_module[..cut]).unwrap();
    }
    for at in (20..good_module.len()).step_by(97) {
        let mut bad = good_module.clone();
        bad[at] ^= 0x15;
        std::fs::write(dir.join(format!("in/flip{at}.spv")), &bad).unwrap();
    }
    let out = dovetail(dir, &["populate", "in", "--cache", "c", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    for shader in json["shaders"].as_array().unwrap() {
        let (name, result) = (shader["name"].as_str().unwrap(), shader["result"].as_str().unwrap());
        if !name.contains("cut") && !name.contains("flip") {
            assert_eq!(result, "compiled", "{name}");
        } else if name.contains("cut") {
            // A module cut between two instructions before the entry point is a module with nothing in it.
            let empty = shader["feature"] == "module without entry points";
            assert!(result == "malformed" || empty, "{shader}");
        } else {
            // A flipped bit may leave a valid or an unsupported module, but must not cause an internal error.
            let why = shader["why"].as_str().unwrap_or_default();
            assert!(!why.contains("panic") && !why.contains("crashed"), "{name}: {why}");
        }
    }
}
