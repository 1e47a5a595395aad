//! Valid inputs, made from `testdata` and by the tests' own writers, without external tools.

use super::link_support::{compute, fragment, removable, state as good_state, vertex};
use super::shapes::SHAPES;
use super::targets::KEY;
use dovetail::cache::entry;
use dovetail::compile::request::{CompilerId, KnownState, ModuleDigest, StageRequest, TuningOptions};
use dovetail::compile::worker::protocol::{MAX_FRAME, PROTOCOL, Request, Response, WorkerHello};
use dovetail::corpus::budget::DEFAULT_MEMORY;
use dovetail::corpus::extract::Extractor;
use dovetail::error::{Error, FullCompile};
use dovetail::frame::{self, Bytes};
use dovetail::glue::{self, GlueKey};
use dovetail::link::{Placement, link};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage, WaveSize};
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Small modules with all kinds of features, and those of `testdata/spirv`.
pub fn spirv() -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = SHAPES.iter().map(|(_, _, make)| make(3)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/spirv");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the modules").map(|e| e.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "spv"));
    files.sort();
    out.extend(files.iter().map(|path| std::fs::read(path).expect("a module")));
    out
}

/// Parts of every stage with relocations and data, one with what a layout makes superfluous, and linked pipelines.
pub fn elf() -> Vec<Vec<u8>> {
    let mut ps = fragment().load_symbol(6, "doff_0_0_b").load_symbol(7, "pushconst");
    ps.data.push((".rodata".into(), 16, vec![7; 24]));
    let parts = [vertex().load_symbol(9, "descset_1").build(), ps.build(), compute().build()];
    let glue = dovetail::link::EmitGlue;
    let graphics = link(&[&parts[0], &parts[1]], &good_state(), Placement::Adjacent, &glue).expect("a pipeline");
    let mut out = parts.to_vec();
    out.push(removable().build());
    out.push(link(&[&parts[2]], &good_state(), Placement::Adjacent, &glue).expect("a pipeline"));
    out.push(graphics);
    out
}

/// Sections of notes.
pub fn note() -> Vec<Vec<u8>> {
    vec![vertex().note(), fragment().note(), compute().note()]
}

/// Pipeline states as text: an empty one, and one with a value for every item.
pub fn state() -> Vec<Vec<u8>> {
    let text = |state: &PipelineState| toml::to_string(state).expect("a state as text").into_bytes();
    vec![text(&good_state()), text(&PipelineState::default())]
}

/// Complete entries, and their contents.
pub fn entry() -> Vec<Vec<u8>> {
    let seen = Mutex::new(Vec::new());
    let keep = |key: &GlueKey| {
        let piece = glue::emit(key)?;
        seen.lock().expect("pieces").push(rmp_serde::to_vec_named(&piece).expect("a piece"));
        Ok(Arc::new(piece))
    };
    link(&[&vertex().build(), &fragment().build()], &good_state(), Placement::Adjacent, &keep).expect("a pipeline");
    let mut out = seen.into_inner().expect("pieces");
    out.push(rmp_serde::to_vec_named(&compiler()).expect("an id"));
    let whole: Vec<Vec<u8>> =
        out.iter().chain([&compute().build()]).map(|bytes| entry::encode(&KEY, bytes).expect("memory")).collect();
    out.extend(whole);
    out
}

/// The compiler that the entries name.
pub fn compiler() -> CompilerId {
    CompilerId { sources: "0123456789abcdef".into(), backend: "llvm 19.1.7".into() }
}

/// A request with a value in every field.
pub fn stage_request(stage: Stage) -> StageRequest {
    StageRequest {
        target: Gpu::Gfx1030,
        stage,
        module: ModuleDigest([3; 32]),
        entry_point: "main".into(),
        specialization: vec![(0, 1), (7, u64::MAX)],
        wave: WaveSize::W64,
        options: TuningOptions::default(),
        known: KnownState::default(),
    }
}

/// Every message of both sides.
pub fn frame() -> Vec<Vec<u8>> {
    let request = stage_request(Stage::Fragment);
    let errors = [
        Error::malformed("word 3").at("a place"),
        Error::unsupported("a feature", "a detail"),
        Error::needs_full(FullCompile::TooManyValues { what: "values".into(), count: 200 }),
        Error::bug("ours"),
    ];
    let answers = errors.into_iter().map(Err).chain([Ok(Bytes(vec![1, 2, 3]))]);
    let mut out = vec![
        frame::frame(&WorkerHello { protocol: PROTOCOL, compiler: compiler(), sandbox: "none".into() }, MAX_FRAME)
            .expect("a frame"),
        frame::frame(&Request { id: 1, module: Bytes(vec![3, 2, 35, 7]), request, also: Vec::new() }, MAX_FRAME)
            .expect("a frame"),
    ];
    out.extend(
        answers.map(|result| frame::frame(&Response { id: 9, result, also: Vec::new() }, MAX_FRAME).expect("a frame")),
    );
    out
}

/// A module plain, compressed in every way, in archives, in nested archives, and as a Qt resource.
pub fn archive() -> Vec<Vec<u8>> {
    let module = super::shapes::ifs(1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&module).expect("to memory");
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(&module).expect("to memory");
    let (gzip, zlib) = (gzip.finish().expect("to memory"), zlib.finish().expect("to memory"));
    let zstd = zstd::encode_all(module.as_slice(), 1).expect("to memory");
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).expect("to memory");
    xz.write_all(&module).expect("to memory");
    let xz = xz.finish().expect("to memory");
    let smolv = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus/mixed_dot.smolv");
    let smolv = std::fs::read(smolv).expect("an encoded module");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in [("a/b.vert.spv", &module), ("c.gz", &gzip)] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("to memory");
        zip.write_all(bytes).expect("to memory");
    }
    let zip = zip.finish().expect("to memory").into_inner();
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in [("d.frag.spv", &module), ("e.zip", &zip)] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, name, bytes.as_slice()).expect("to memory");
    }
    let tar = tar.into_inner().expect("to memory");
    let twice = zstd::encode_all(tar.as_slice(), 1).expect("to memory");
    let resource = resource(&[("a.vert.qsb", 0, &module), ("b.vert.qsb", 1, &zlib), ("c.frag.qsb", 4, &zstd)]);
    let all = vec![module, gzip, zlib, zstd, xz, smolv, zip, tar, twice, resource];
    for (n, seed) in all.iter().enumerate() {
        let mut found = 0;
        let mut count = |_: &_, _: Vec<u8>| found += 1;
        let mut extractor = Extractor::new(&mut count);
        extractor.add("seed", seed, DEFAULT_MEMORY);
        assert!(extractor.finish().incomplete.is_empty() && found > 0, "seed {n} has no module");
    }
    all
}

/// A binary with a Qt resource: names, flags (1 zlib, 4 zstd) and stored bytes of files in one folder. The three arrays
/// are in the order that compilers emit: data, names, tree.
fn resource(files: &[(&str, u16, &[u8])]) -> Vec<u8> {
    let (mut data, mut names, mut tree) = (Vec::new(), Vec::new(), Vec::new());
    let mut name = |text: &str| {
        let (at, units): (usize, Vec<u16>) = (names.len(), text.encode_utf16().collect());
        let hash = units.iter().fold(0u32, |hash, &unit| {
            let hash = (hash << 4).wrapping_add(unit.into());
            (hash ^ (hash & 0xf000_0000) >> 23) & 0x0fff_ffff
        });
        names.extend([&(units.len() as u16).to_be_bytes()[..], &hash.to_be_bytes()].concat());
        units.iter().for_each(|unit| names.extend(unit.to_be_bytes()));
        at as u32
    };
    let mut node = |name: u32, flags: u16, a: u32, b: u32| {
        let numbers = [&name.to_be_bytes()[..], &flags.to_be_bytes(), &a.to_be_bytes(), &b.to_be_bytes(), &[0; 8]];
        tree.extend(numbers.concat());
    };
    node(0, 2, 1, 1);
    node(name("shaders"), 2, files.len() as u32, 2);
    for (text, flags, stored) in files {
        node(name(text), *flags, 1, data.len() as u32);
        // A zlib stream is preceded by its unpacked size.
        let stored = if *flags == 1 { [&[0, 0, 16, 0], *stored].concat() } else { stored.to_vec() };
        data.extend((stored.len() as u32).to_be_bytes());
        data.extend(stored);
    }
    let mut file = vec![0xcc; 64];
    for array in [data, names, tree] {
        file.extend(array);
        file.resize(file.len().next_multiple_of(32), 0);
    }
    file
}
