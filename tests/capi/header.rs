//! The header equals the output of `cbindgen` for `src/capi`. `DOVETAIL_BLESS=1` rewrites it.

use crate::support::root;
use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};
use std::fs;

const HEAD: &str = "\
/* dovetail.h: links pipelines of cached shaders for AMD GPUs. Manual: docs/capi.md.
 *
 * Every info struct begins with `size` (set it to sizeof) and `flags`. Unknown flags, NULL or misaligned pointers and impossible
 * sizes return DVT_E_ARGUMENT. Formats, stages, rates and descriptor types are Vulkan's enumerants. All functions are
 * thread-safe, but destroying a handle must be its last use. No function blocks on anything but the disk, except those with
 * `wait` in their name.
 *
 * A part is a shader compiled to an unlinked ELF, as the cache keeps it. Compiled as a whole means that the compiler knew all
 * stages and the complete pipeline state. */";

/// Sources of the header, in its order.
const SOURCES: [&str; 3] = ["types.rs", "raw/objects.rs", "raw/pipelines.rs"];

/// C names of Rust types.
const NAMES: [(&str, &str); 20] = [
    ("ContextHandle", "dvt_context"),
    ("LayoutHandle", "dvt_layout"),
    ("ShaderHandle", "dvt_shader"),
    ("PipelineHandle", "dvt_pipeline"),
    ("Key", "dvt_key"),
    ("ContextInfo", "dvt_context_info"),
    ("Stats", "dvt_stats"),
    ("Event", "dvt_event"),
    ("Binding", "dvt_binding"),
    ("Set", "dvt_set"),
    ("Sampler", "dvt_sampler"),
    ("LayoutInfo", "dvt_layout_info"),
    ("Spec", "dvt_spec"),
    ("ShaderInfo", "dvt_shader_info"),
    ("ShaderStatus", "dvt_shader_status_t"),
    ("VertexBinding", "dvt_vertex_binding"),
    ("VertexAttribute", "dvt_vertex_attribute"),
    ("ColorAttachment", "dvt_color_attachment"),
    ("PipelineInfo", "dvt_pipeline_info"),
    ("PipelineStatus", "dvt_pipeline_status_t"),
];

fn made() -> String {
    let names = NAMES.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned()));
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        include_guard: Some("DOVETAIL_H".to_owned()),
        header: Some(HEAD.to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        line_length: 120,
        export: ExportConfig { rename: names.collect(), ..Default::default() },
        ..Config::default()
    };
    let source = |name: &str| root().join("src/capi").join(name);
    let bindings = SOURCES.iter().fold(Builder::new().with_config(config), |made, name| made.with_src(source(name)));
    let bindings = bindings.generate();
    let mut text = Vec::new();
    bindings.expect("a header").write(&mut text);
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let (path, made) = (root().join("include/dovetail.h"), made());
    if std::env::var_os("DOVETAIL_BLESS").is_some() {
        fs::write(&path, &made).expect("the header");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(there == made, "include/dovetail.h differs from line {differs:?} (from 0) on: DOVETAIL_BLESS=1 writes it");
}

/// A function missing from the header is unusable from C; one missing from the manual is undocumented.
#[test]
fn every_function_is_in_the_header_and_in_the_manual() {
    let read = |name: &&str| fs::read_to_string(root().join("src/capi").join(name)).expect("a source");
    let source: String = SOURCES.iter().map(read).collect();
    let header = fs::read_to_string(root().join("include/dovetail.h")).expect("the header");
    let manual = fs::read_to_string(root().join("docs/capi.md")).expect("the manual");
    let functions: Vec<&str> =
        source.split("extern \"C\" fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    assert_eq!(functions.len(), 31 + 1, "{functions:?}");
    for function in functions.into_iter().filter(|name| name.starts_with("dvt_")) {
        assert!(header.contains(&format!("{function}(")), "{function} is not in the header");
        assert!(manual.contains(function), "{function} is not in docs/capi.md");
    }
}
