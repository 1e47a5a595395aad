//! The Vulkan layer as Vulkan's own loader loads it, over lavapipe, under an application in a process of its own.

mod application;
#[path = "../support/cases.rs"]
mod cases;
mod conversions;
mod depth_stencil;
mod dispatches;
mod draw_application;
mod dynamic_states;
mod easel;
mod samplers;
mod secondaries;
mod served;
mod shadow;
mod shadow_draws;
mod swizzles;
#[path = "../support/vulkan.rs"]
mod vulkan;

use application::Shaders;
use dovetail::capture::foz::EntryKind;
use dovetail::capture::{self, Recording, Translated};
use dovetail::state::{PipelineState, VertexRate};
use dovetail::target::Stage;
use dovetail_testing as support;
use draw_application::Cases;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{BuildFolder, glsl, root, run, skip, tool};

/// Where the application finds its shaders: then it is the application.
const SHADERS: &str = "DOVETAIL_TEST_SHADERS";
/// Names the application to run; without it, that of `application.rs`.
const APPLICATION: &str = "DOVETAIL_TEST_APPLICATION";
/// It ends in the middle of everything.
const ABORT: &str = "DOVETAIL_TEST_ABORT";

const NAMES: [&str; 3] = ["triangle.vert", "triangle.frag", "scale.comp"];
/// The shader of the second application.
const MIX: &str = "mix.comp";
/// The shaders of the third application, by `App::modules`.
const DRAW: [[&str; 2]; 4] = [
    ["draw.vert", "draw.frag"],
    ["flat.vert", "flat.frag"],
    ["draw.vert", "integers.frag"],
    ["draw.vert", "compared.frag"],
];

/// The application. It is a test only because a test program can start itself only in this way.
#[test]
#[ignore = "the application of the other tests"]
fn application() {
    let Some(folder) = env::var_os(SHADERS) else { return };
    let folder = Path::new(&folder);
    let shader = |name: &str| std::fs::read(folder.join(name)).expect("a shader");
    let numbers = match env::var(APPLICATION).as_deref() {
        Ok(shadow::CASES) => shadow::cases(folder),
        Ok(conversions::CONVERSIONS) => {
            conversions::run(&shader(conversions::PLANES));
            "[]".to_owned()
        }
        Ok(shadow::DISPATCHES) => format!("{:?}", dispatches::run(&shader(MIX))),
        Ok(
            name @ (shadow_draws::DRAWS
            | dynamic_states::STATES
            | depth_stencil::DEPTHS
            | swizzles::SWIZZLES
            | samplers::SAMPLERS),
        ) => {
            let code = DRAW.map(|pair| pair.map(shader));
            let code = code.each_ref().map(|pair| pair.each_ref().map(Vec::as_slice));
            let cases = match name {
                shadow_draws::DRAWS => Cases::Ways,
                dynamic_states::STATES => Cases::DynamicStates,
                depth_stencil::DEPTHS => Cases::DepthStencil,
                samplers::SAMPLERS => Cases::Samplers,
                _ => Cases::Swizzles,
            };
            serde_json::to_string(&draw_application::run(code, cases)).expect("JSON")
        }
        _ => {
            let [vertex, fragment, compute] = NAMES.map(shader);
            format!("{:?}", application::run(&Shaders { vertex, fragment, compute }))
        }
    };
    println!("numbers {numbers}");
    if env::var_os(ABORT).is_some() {
        std::process::abort();
    }
}

/// The layer's library, built once a process.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let here = BuildFolder::of_this_program();
        let mut cargo = here.cargo("build");
        cargo.args(["-p", "dovetail-layer"]);
        run(cargo);
        here.files().join("libdovetail_layer.so")
    })
}

/// A folder with the shaders and the manifests, and how the application is run in it.
struct Scenery {
    dir: tempfile::TempDir,
    icd: PathBuf,
}

impl Scenery {
    /// `None` if something is missing; the skip has been recorded.
    fn set(test: &str) -> Option<Self> {
        let icds =
            std::fs::read_dir("/usr/share/vulkan/icd.d").into_iter().flatten().flatten().map(|entry| entry.path());
        let icd = icds.into_iter().find(|path| path.display().to_string().contains("/lvp_icd"));
        let Some(icd) = icd else {
            skip(test, "no lavapipe");
            return None;
        };
        tool(test, "glslangValidator")?;
        let dir = tempfile::tempdir().expect("a folder");
        let stage = Self { dir, icd };
        for name in NAMES.into_iter().chain([MIX, conversions::PLANES]).chain(DRAW.into_iter().flatten()) {
            let code = glsl(test, &root().join("testdata/layer").join(name), "vulkan1.1")?;
            std::fs::write(stage.path(name), code).expect("a shader");
        }
        for (from, to) in [("explicit", "explicit.d"), ("implicit", "share/vulkan/implicit_layer.d")] {
            let text =
                std::fs::read_to_string(root().join(format!("layer/manifests/{from}.json.in"))).expect("a manifest");
            let text = text.replace("@LIBRARY@", library().to_str().expect("a path in UTF-8"));
            std::fs::create_dir_all(stage.path(to)).expect("a folder");
            std::fs::write(stage.path(to).join("layer.json"), text).expect("a manifest");
        }
        Some(stage)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the application; returns its output, and whether it succeeded.
    fn run(&self, environment: &[(&str, &str)]) -> (String, bool) {
        let (numbers, succeeded, _) = self.run_with_errors(environment);
        (numbers, succeeded)
    }

    /// Likewise, and what is on standard error.
    fn run_with_errors(&self, environment: &[(&str, &str)]) -> (String, bool, String) {
        let mut app = Command::new(env::current_exe().expect("this program"));
        app.args(["--exact", "application", "--ignored", "--nocapture"]).env_clear();
        app.envs(env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !name.starts_with("VK_") && !name.starts_with("DOVETAIL_")
        }));
        app.env(SHADERS, self.dir.path()).env("VK_ICD_FILENAMES", &self.icd).current_dir(self.dir.path());
        app.envs(environment.iter().copied());
        let out = app.output().expect("the application");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let numbers = text.lines().find_map(|line| Some(line.split_once("numbers ")?.1.to_owned()));
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        (numbers.unwrap_or_else(|| panic!("{}: {text}\n{errors}", out.status)), out.status.success(), errors)
    }

    /// Runs it with the layer, enabled by name.
    fn layered(&self, more: &[(&str, &str)]) -> (String, bool) {
        let (numbers, succeeded, _) = self.layered_with_errors(more);
        (numbers, succeeded)
    }

    fn layered_with_errors(&self, more: &[(&str, &str)]) -> (String, bool, String) {
        let folder = self.path("explicit.d");
        let path = folder.to_str().expect("a path in UTF-8");
        let mut environment = vec![("VK_LAYER_PATH", path), ("VK_INSTANCE_LAYERS", "VK_LAYER_DOVETAIL_capture")];
        environment.extend_from_slice(more);
        self.run_with_errors(&environment)
    }

    fn archives(&self, folder: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "foz")).collect()
    }

    /// Runs `dovetail populate` on everything recorded; returns its JSON and its exit code.
    fn populate(&self, folder: &str) -> (serde_json::Value, Option<i32>) {
        let mut dovetail = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        dovetail.arg("populate").args(self.archives(folder)).arg("--cache").arg(self.path("cache")).arg("--json");
        let out = dovetail.output().expect("dovetail");
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        let summary = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
        (summary, out.status.code())
    }
}

fn states(recording: &Recording) -> Vec<Result<Translated, dovetail::error::Error>> {
    let graphics = recording.hashes(EntryKind::GraphicsPipeline).into_iter();
    let graphics = graphics.map(|name| capture::graphics(&recording.graphics(name).expect("a pipeline"), recording));
    let compute = recording.hashes(EntryKind::ComputePipeline).into_iter();
    let compute = compute.map(|name| capture::compute(&recording.compute(name).expect("a pipeline"), recording));
    graphics.chain(compute).collect()
}

const TRIPLES: fn() -> String = || format!("{:?}", (0..64).map(|n| n * 3).collect::<Vec<u32>>());

#[test]
fn what_the_application_gives_is_recorded_and_what_it_gets_is_the_drivers() {
    const NAME: &str = "what_the_application_gives_is_recorded_and_what_it_gets_is_the_drivers";
    let Some(stage) = Scenery::set(NAME) else { return };
    assert_eq!(stage.run(&[]), (TRIPLES(), true), "without the layer");
    assert_eq!(stage.layered(&[("DOVETAIL_LAYER_DIR", "out")]), (TRIPLES(), true));

    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    assert_eq!(recording.skipped(), []);
    // Modules inside a pipeline equal modules created before, so there are three.
    let modules: BTreeMap<_, _> = recording
        .hashes(EntryKind::ShaderModule)
        .into_iter()
        .map(|name| (recording.module(name).unwrap(), name))
        .collect();
    let given = NAMES.map(|name| std::fs::read(stage.path(name)).expect("a shader"));
    assert_eq!(modules.len(), 3);
    for code in &given {
        let name = modules.get(code).expect("a module as it was given");
        assert_eq!(&std::fs::read(stage.path(&format!("out/modules/{name}.spv"))).unwrap(), code);
    }
    assert_eq!(recording.hashes(EntryKind::Application).len(), 1);

    let (supported, refused): (Vec<_>, Vec<_>) = states(&recording).into_iter().partition(Result::is_ok);
    let refused: Vec<String> = refused.into_iter().map(|e| e.unwrap_err().to_string()).collect();
    assert_eq!(refused, ["unsupported: VK_DYNAMIC_STATE_VERTEX_INPUT_EXT"]);
    let supported: Vec<Translated> = supported.into_iter().map(Result::unwrap).collect();
    let of_format = |format: &str| {
        let drawn =
            |state: &PipelineState| state.color.attachments.first().is_some_and(|a| a.format.to_string() == format);
        supported.iter().find(|t| drawn(&t.state)).unwrap_or_else(|| panic!("{format}"))
    };
    let in_pass = of_format("R8G8B8A8_UNORM");
    let rendered = of_format("B8G8R8A8_SRGB");
    for Translated { state, stages } in [in_pass, rendered] {
        assert_eq!(stages.iter().map(|s| s.stage).collect::<Vec<_>>(), [Stage::Vertex, Stage::Fragment]);
        assert_eq!(state.layout.push_constant_bytes, 8);
        // The first set exists and is empty.
        assert_eq!(state.layout.sets.iter().map(|set| set.bindings.len()).collect::<Vec<_>>(), [0, 2]);
        assert!(state.layout.sets[1].bindings[1].dynamic);
        let buffers: Vec<_> = state.vertex.bindings.iter().map(|b| (b.binding, b.stride, b.rate)).collect();
        assert_eq!(buffers, [(0, 8, VertexRate::Vertex), (1, 4, VertexRate::Instance)]);
        let color = &state.color.attachments[0];
        assert!(color.blend && color.blend_source_alpha && color.write_mask == 15 && color.location == 0);
        assert_eq!((state.color.samples, state.color.attachments.len()), (1, 1));
    }
    let values = |t: &Translated| t.state.specialization.iter().map(|e| (e.stage, e.id, e.value)).collect::<Vec<_>>();
    assert_eq!(values(in_pass), [(Some(Stage::Fragment), 3, 1)]);
    assert_eq!(values(rendered), []);
    let compute = supported.iter().find(|t| t.stages[0].stage == Stage::Compute).expect("the compute pipeline");
    let stage = Some(Stage::Compute);
    assert_eq!(values(compute), [(stage, 1, 3), (stage, 7, 64), (stage, 99, 3)]);
}

#[test]
fn what_was_recorded_is_linked_then_and_beside_the_driver() {
    const NAME: &str = "what_was_recorded_is_linked_then_and_beside_the_driver";
    let Some(stage) = Scenery::set(NAME) else { return };
    stage.layered(&[("DOVETAIL_LAYER_DIR", "out")]);
    let (summary, code) = stage.populate("out");
    let pipelines = &summary["pipelines"];
    assert_eq!(pipelines["linked"], 3, "{summary}");
    // The pipeline whose vertex input commands set is no failure.
    assert_eq!((&pipelines["unsupported"], &pipelines["waiting"]), (&serde_json::json!({}), &1.into()), "{summary}");
    assert_eq!(code, Some(0), "{summary}");
    assert_eq!(
        (&pipelines["whole"], &pipelines["failed"]),
        (&serde_json::json!({}), &serde_json::json!([])),
        "{summary}"
    );
    // The vertex shader, the fragment shader with two values, the compute shader with its own.
    assert_eq!(summary["counts"], serde_json::json!({ "compiled": 4 }), "{summary}");
    let (cached, _) = stage.populate("out");
    assert_eq!(cached["counts"], serde_json::json!({ "already cached": 4 }), "{cached}");

    let beside = [
        ("DOVETAIL_LAYER_JSON", "times.json"),
        ("DOVETAIL_LAYER_TIMES", "times.txt"),
        ("DOVETAIL_LAYER_CACHE", "cache"),
    ];
    assert_eq!(stage.layered(&beside), (TRIPLES(), true));
    let times: serde_json::Value =
        serde_json::from_slice(&std::fs::read(stage.path("times.json")).expect("a report")).expect("JSON");
    let made = times["made"].as_array().expect("pipelines");
    let came = |result: &str| made.iter().filter(|row| row["result"] == result).collect::<Vec<_>>();
    assert_eq!((made.len(), came("linked").len(), came("waiting").len()), (4, 3, 1), "{times}");
    assert_eq!(times["untranslated"], serde_json::json!({}), "{times}");
    for row in came("linked") {
        assert_eq!(row["hits"], row["stages"], "{row}");
        assert!(row["driver_us"].as_f64() > Some(0.0) && row["link_us"].as_f64() > Some(0.0), "{row}");
        assert!(row["bytes"].as_u64() > Some(1000), "{row}");
    }
    let created: Vec<_> = made.iter().map(|row| row["created"].as_u64().unwrap_or(0)).collect();
    assert_eq!((created.iter().max(), created.iter().sum::<u64>()), (Some(&2), 5), "one was created twice");
    let table = std::fs::read_to_string(stage.path("times.txt")).expect("a table");
    assert!(table.contains("3 modules, 4 pipelines: 3 linked, 1 waiting"), "{table}");
}

#[test]
fn an_application_that_dies_leaves_what_it_made() {
    const NAME: &str = "an_application_that_dies_leaves_what_it_made";
    let Some(stage) = Scenery::set(NAME) else { return };
    assert_eq!(stage.layered(&[("DOVETAIL_LAYER_DIR", "out"), (ABORT, "1")]), (TRIPLES(), false));
    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    assert_eq!(states(&recording).len(), 4);
}

#[test]
fn runs_one_after_the_other_continue_one_archive() {
    const NAME: &str = "runs_one_after_the_other_continue_one_archive";
    let Some(stage) = Scenery::set(NAME) else { return };
    let record = |application| {
        let (_, succeeded) = stage.layered(&[("DOVETAIL_LAYER_DIR", "out"), (APPLICATION, application)]);
        assert!(succeeded);
        stage.archives("out").into_iter().map(|path| std::fs::metadata(path).expect("a file").len()).collect::<Vec<_>>()
    };
    let [first] = record("")[..] else { panic!("{:?}", stage.archives("out")) };
    // It has everything already; another application of the same program adds to it.
    assert_eq!(record(""), [first]);
    let [second] = record(swizzles::SWIZZLES)[..] else { panic!("{:?}", stage.archives("out")) };
    assert!(second > first, "{first} {second}");
    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    assert!(recording.skipped().is_empty() && recording.torn_at().is_none());
    assert!(states(&recording).len() > 4);
    // What another process writes is left alone.
    let other = std::fs::File::open(archive).expect("the archive");
    other.lock().expect("a lock");
    assert_eq!(record("").len(), 2);
    assert_eq!(std::fs::metadata(archive).expect("a file").len(), second);
}

#[test]
fn a_cache_that_cannot_be_used_is_reported_with_the_reason() {
    let Some(stage) = Scenery::set("a_cache_that_cannot_be_used_is_reported_with_the_reason") else { return };
    std::fs::create_dir(stage.path("empty")).expect("a folder");
    std::fs::create_dir_all(stage.path("damaged/lmdb")).expect("a folder");
    std::fs::write(stage.path("damaged/lmdb/data.mdb"), [7; 9000]).expect("a file");
    let json = ("DOVETAIL_LAYER_JSON", "times.json");
    for (given, cache, why) in [
        (&[json][..], "nowhere", "nowhere is no folder"),
        (&[json], "empty", "empty has no cache in it"),
        (&[json], "damaged", "damaged: the cache cannot be read"),
        (&[("DOVETAIL_LAYER_DIR", "out")], "empty", "empty is ignored: neither DOVETAIL_LAYER_TIMES nor"),
    ] {
        let settings = [given, &[("DOVETAIL_LAYER_CACHE", cache)]].concat();
        let (numbers, succeeded, errors) = stage.layered_with_errors(&settings);
        assert_eq!((numbers, succeeded), (TRIPLES(), true), "{errors}");
        assert_eq!(errors.matches(&format!("DOVETAIL_LAYER_CACHE={why}")).count(), 1, "{why}: {errors}");
    }
}

#[test]
fn the_implicit_layer_is_there_when_it_is_asked_for() {
    const NAME: &str = "the_implicit_layer_is_there_when_it_is_asked_for";
    let Some(stage) = Scenery::set(NAME) else { return };
    let share = stage.path("share");
    let share = share.to_str().expect("a path in UTF-8");
    let rows: [(&[(&str, &str)], usize); 3] = [
        (&[], 0),
        (&[("DOVETAIL_CAPTURE", "1")], 1),
        (&[("DOVETAIL_CAPTURE", "1"), ("DOVETAIL_CAPTURE_DISABLE", "1")], 1),
    ];
    for (given, archives) in rows {
        let mut environment = vec![("XDG_DATA_HOME", share), ("DOVETAIL_LAYER_DIR", "out")];
        environment.extend_from_slice(given);
        assert_eq!(stage.run(&environment), (TRIPLES(), true), "{given:?}");
        assert_eq!(stage.archives("out").len(), archives, "{given:?}");
    }
}

#[test]
fn what_the_layer_cannot_do_the_application_does_not_notice() {
    const NAME: &str = "what_the_layer_cannot_do_the_application_does_not_notice";
    let Some(stage) = Scenery::set(NAME) else { return };
    std::fs::write(stage.path("file"), b"no folder").expect("a file");
    for given in [
        ("DOVETAIL_LAYER_DIR", "file/out"),
        ("DOVETAIL_LAYER_DIR", "/dev/null"),
        ("DOVETAIL_LAYER_JSON", "/dev/null/no.json"),
        ("DOVETAIL_LAYER_TIMES", "nowhere/times.txt"),
    ] {
        assert_eq!(stage.layered(&[given]), (TRIPLES(), true), "{given:?}");
        let without_cache = [given, ("DOVETAIL_LAYER_CACHE", "/dev/null/cache"), ("DOVETAIL_LAYER_TARGET", "gfx9")];
        assert_eq!(stage.layered(&without_cache), (TRIPLES(), true), "{given:?}");
    }
}

#[test]
fn numbers_and_names_are_vulkans() {
    let [dynamic, structures] = capture::names();
    for (number, name) in dynamic {
        let theirs = format!("{:?}", ash::vk::DynamicState::from_raw(number as i32));
        // `ash` uses the suffix of the latest extension.
        let plain = |name: &str| name.trim_end_matches("_EXT").trim_end_matches("_KHR").to_owned();
        assert_eq!(plain(&theirs), plain(name), "{number}");
    }
    for (number, name) in structures {
        assert_eq!(format!("{:?}", ash::vk::StructureType::from_raw(number as i32)), name, "{number}");
    }
}

#[test]
fn settings_that_cannot_be_used_are_reported_and_ignored() {
    let Some(stage) = Scenery::set("settings_that_cannot_be_used_are_reported_and_ignored") else { return };
    let settings = [
        ("DOVETAIL_LAYER_DIR", "out"),
        ("DOVETAIL_LAYER_WAIT", "soon"),
        ("DOVETAIL_LAYER_SHADOW_MIB", "-1"),
        ("DOVETAIL_LAYER_SHADOW_EACH", ""),
        ("DOVETAIL_LAYER_TIME", "out/times"),
    ];
    let (numbers, succeeded, errors) = stage.layered_with_errors(&settings);
    assert_eq!((numbers, succeeded, stage.archives("out").len()), (TRIPLES(), true, 1));
    for reported in [
        "DOVETAIL_LAYER_WAIT=soon is ignored: it is not a whole number",
        "DOVETAIL_LAYER_SHADOW_MIB=-1 is ignored: it is not a whole number",
        "DOVETAIL_LAYER_TIME is ignored: no setting has this name",
    ] {
        assert_eq!(errors.matches(reported).count(), 1, "{reported}: {errors}");
    }
    assert!(!errors.contains("EACH"), "{errors}");
}
