//! Exports of a context are imported by another one, completely or not at all.

use crate::cache::{self, Made, compiler, module, request, state};
use crate::link_support;
use crate::runtime::{NONE, context, linked, of, pair, shader};
use dovetail::error::ErrorKind;
use dovetail::frame::{self, HEAD};
use dovetail::runtime::{Answer, Context, ContextInfo, Imported, Layout, PipelineRoute, ShaderStatus, Size, Stats};
use dovetail::target::{Gpu, Stage};
use std::path::Path;

fn export(context: &Context) -> Vec<u8> {
    let Size::Incomplete(size) = context.export(&mut []).unwrap() else { panic!("an export of no bytes") };
    let mut out = vec![0xee; size + 3];
    assert_eq!(context.export(&mut out[..size - 1]).unwrap(), Size::Incomplete(size));
    assert!(out.iter().all(|byte| *byte == 0xee), "nothing is half written");
    assert_eq!(context.export(&mut out).unwrap(), Size::Written(size));
    assert_eq!(out.split_off(size), [0xee; 3]);
    out
}

/// Export of a context that has looked up the three shaders of [`cache::full`].
pub fn full(dir: &Path) -> Vec<u8> {
    drop(cache::full(dir));
    let context = context(Some(dir));
    let _held = (pair(&context), shader(&context, Stage::Compute, 3));
    export(&context)
}

fn links(context: &Context) {
    let state = state();
    let layout = Layout::new(&state.layout).unwrap();
    let [vs, fs] = pair(context);
    let (shaders, mut out) = ([&vs, &fs], linked());
    let expect = std::mem::replace(&mut out, vec![0; 1 << 16]);
    let done = context.link_into(&of(&shaders, &layout, &state, NONE), &mut out).unwrap();
    assert_eq!(done, Answer::Ready((Size::Written(expect.len()), PipelineRoute::Linked)));
    assert!(out[..expect.len()] == expect);
}

/// Corrects the digest of an export that a test has changed.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 32;
    let digest = blake3::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(digest.as_bytes());
    bytes
}

fn untouched(context: &Context) {
    let Stats { memory_bytes, imported, left_out, .. } = context.stats().unwrap();
    assert_eq!((memory_bytes, imported, left_out), (0, 0, 0));
}

#[test]
fn a_context_without_a_cache_links_what_was_exported() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = full(dir.path());
    let other = context(None);
    assert_eq!(other.import(&bytes).unwrap(), Imported { parts: 3, left_out: 0 });
    links(&other);
    let stats = other.stats().unwrap();
    assert_eq!((stats.imported, stats.memory_hits, stats.misses), (3, 2, 0));
    // The compiler identity came along, and exporting again gives the same bytes.
    assert_eq!(other.key().unwrap(), context(Some(dir.path())).key().unwrap());
    assert!(export(&other) == bytes);
    assert_eq!(other.import(&bytes).unwrap(), Imported::default(), "all there already");
    // An empty context exports an empty list.
    let nothing = export(&context(None));
    assert_eq!(other.import(&nothing).unwrap(), Imported::default());
    assert_eq!(context(None).import(&nothing).unwrap(), Imported::default());
}

#[test]
fn exports_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let all = full(dir.path());
    let [vertex, fragment, compute] =
        [(Stage::Vertex, 1), (Stage::Fragment, 2), (Stage::Compute, 3)].map(|(stage, number)| {
            let context = context(Some(dir.path()));
            shader(&context, stage, number);
            export(&context)
        });
    let merged = context(None);
    for bytes in [&compute, &vertex, &fragment, &vertex] {
        merged.import(bytes).unwrap();
    }
    assert!(export(&merged) == all);
}

#[test]
fn a_shader_that_was_missing_finds_what_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = full(dir.path());
    let context = context(None);
    let early = shader(&context, Stage::Vertex, 1);
    assert_eq!(early.status().unwrap(), ShaderStatus::NotCached);
    context.import(&bytes).unwrap();
    assert_eq!(early.wait(std::time::Duration::ZERO).unwrap(), ShaderStatus::Ready);
}

#[test]
fn no_damage_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = full(dir.path());
    let context = context(None);
    for at in 0..bytes.len() {
        for bit in [1, 0x80] {
            bytes[at] ^= bit;
            let refused = context.import(&bytes).unwrap_err();
            let foreign = matches!(refused.kind(), ErrorKind::Unsupported { .. });
            assert!(matches!(refused.kind(), ErrorKind::Malformed(_)) || (at == 3 && foreign), "byte {at}: {refused}");
            bytes[at] ^= bit;
        }
        let cut = context.import(&bytes[..at]).unwrap_err();
        assert!(matches!(cut.kind(), ErrorKind::Malformed(_)), "cut at {at}: {cut}");
    }
    bytes.push(0);
    assert!(context.import(&bytes).is_err());
    untouched(&context);
    assert_eq!(context.stats().unwrap().imports_refused, 3 * (bytes.len() as u64 - 1) + 1);
    bytes.pop();
    assert_eq!(context.import(&bytes).unwrap().parts, 3, "damage before does no harm");
    links(&context);
}

/// The digest guarantees nothing but itself: forged bytes are parsed with the same care.
#[test]
fn lies_with_a_right_digest_are_read_with_care() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = full(dir.path());
    let mut refused = 0;
    for at in 0..bytes.len() - 32 {
        let mut lie = bytes.clone();
        lie[at] ^= 0xff;
        let context = context(None);
        match context.import(&sealed(lie)) {
            Err(_) => untouched(&context),
            // A changed byte in a key or in code, which only the digest could detect. A part under another key is never
            // found.
            Ok(imported) => assert_eq!(imported.parts, 3),
        }
        refused += context.stats().unwrap().imports_refused;
        if at % 3 == 0 {
            let mut cut = [&bytes[..at], &[0; 32]].concat();
            let length = cut.len() as u64;
            if let Some(said) = cut.get_mut(8..16) {
                said.copy_from_slice(&length.to_le_bytes());
            }
            // A cut between two parts is a valid export of fewer.
            let _ = context.import(&sealed(cut));
        }
    }
    assert!(refused > 300, "{refused}");
}

/// An export without parts, with this header.
fn says(target: &str, schema: &str, compiler: Option<&str>) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Compiler<'a> {
        sources: &'a str,
        backend: &'a str,
    }
    #[derive(serde::Serialize)]
    struct Identity<'a> {
        target: &'a str,
        schema: &'a str,
        compiler: Option<Compiler<'a>>,
    }
    let compiler = compiler.map(|backend| Compiler { sources: "tests", backend });
    let identity = frame::frame(&Identity { target, schema, compiler }, 1 << 16).unwrap().split_off(HEAD);
    let mut out = b"DVX\x01".to_vec();
    out.extend((identity.len() as u32).to_le_bytes());
    out.extend((16 + identity.len() as u64 + 32).to_le_bytes());
    out.extend(identity);
    out.extend([0; 32]);
    sealed(out)
}

#[test]
fn what_is_foreign_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let context = context(Some(dir.path()));
    let ours = dovetail::wire::REQUEST_SCHEMA;
    context.import(&says("gfx1030", ours, Some(&compiler().backend))).expect("what it exports itself");
    context.import(&says("gfx1030", ours, None)).expect("of a context that knew nothing");
    let newer = [&b"DVX\x02"[..], &says("gfx1030", ours, None)[4..]].concat();
    for (bytes, why) in [
        (says("gfx1030", "of another", None), "parts of another version"),
        (says("gfx1030", ours, Some("llvm 99")), "llvm 99, sources tests, here by hand with sources tests"),
        (newer, "export of version 2"),
    ] {
        let refused = context.import(&bytes).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Unsupported { .. }), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert!(context.import(&says("gfx9999", ours, None)).is_err());
    assert!(context.import(b"").unwrap_err().to_string().contains("no export"));
    assert_eq!(context.stats().unwrap().imports_refused, 5);
}

#[test]
fn an_import_keeps_to_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(dir.path());
    (0..64).for_each(|n| made.put(&request(Stage::Vertex, module(n)), &link_support::vertex()));
    let source = context(Some(dir.path()));
    let _held: Vec<_> = (0..64).map(|n| shader(&source, Stage::Vertex, n)).collect();
    let bytes = export(&source);
    let part = link_support::vertex().build().len();
    let small = |max_memory| {
        let info = ContextInfo { max_memory, exports: true, ..ContextInfo::new(Gpu::Gfx1030) };
        let context = Context::new(&info).unwrap();
        (context.import(&bytes).unwrap(), context.stats().unwrap())
    };
    assert_eq!(small(0).0, Imported { parts: 0, left_out: 64 });
    let (imported, stats) = small(32 * part);
    assert_eq!(imported, Imported { parts: 32, left_out: 32 }, "whatever keys they have");
    assert!(stats.memory_bytes <= 32 * part as u64, "{stats:?}");
    assert_eq!((stats.imported, stats.left_out), (imported.parts, imported.left_out));
    assert_eq!(small(64 * part).0, Imported { parts: 64, left_out: 0 });
}

#[test]
fn threads_export_while_others_make_shaders() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(dir.path());
    (0..64).for_each(|n| made.put(&request(Stage::Vertex, module(n)), &link_support::vertex()));
    let context = context(Some(dir.path()));
    std::thread::scope(|scope| {
        for half in [0, 32] {
            let context = &context;
            scope.spawn(move || (half..half + 32).for_each(|n| drop(shader(context, Stage::Vertex, n))));
        }
        for _ in 0..20 {
            let Size::Incomplete(size) = context.export(&mut []).unwrap() else { panic!("no bytes") };
            let mut out = vec![0; size];
            // Another thread may have added parts in between.
            if let Size::Written(size) = context.export(&mut out).unwrap() {
                self::context(None).import(&out[..size]).expect("what was exported");
            }
        }
    });
    assert_eq!(self::context(None).import(&export(&context)).unwrap().parts, 64);
}

#[test]
fn who_does_not_export_pays_nothing_and_may_import() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = full(dir.path());
    let (target, max_memory) = (Gpu::Gfx1030, 1 << 20);
    let info = ContextInfo { max_memory, ..ContextInfo::new(target) };
    let context = Context::new(&info).unwrap();
    assert_eq!(context.import(&bytes).unwrap().parts, 3);
    links(&context);
    let refused = context.export(&mut []).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Unsupported { .. }), "{refused}");
}
