//! A driver with a cache that has only packs.

use crate::cache::{self, module, request, state};
use crate::runtime::{NONE, context, linked, of, pair, shader};
use dovetail::cache::{Cache, Key, MemoryStore, Payload, StoreKind};
use dovetail::error::Result;
use dovetail::keys;
use dovetail::pack::{
    Listed, PackList, PackMeta, PackSource, PackStanding, PackWriter, Resolve, Root, merge, packs_dir,
};
use dovetail::runtime::{Layout, ShaderStatus};
use dovetail::target::Stage;
use std::fs;
use std::path::Path;

struct All;

impl Resolve for All {
    fn resolve(&self, _: &Key, _: &[Payload]) -> Result<Option<Payload>> {
        Ok(None)
    }

    fn wants(&self, _: &Key, _: &Payload) -> bool {
        true
    }
}

fn write(source: &dyn PackSource, path: &Path) -> Root {
    let mut writer = PackWriter::create(path).unwrap();
    merge(&[source], &All, &mut writer, |_, _| ()).unwrap();
    writer.finish(&PackMeta { name: "game".into(), version: 1, ..PackMeta::default() }).unwrap()
}

/// A folder with a pack of the cache of `cache::full`, and nothing else.
fn folder() -> tempfile::TempDir {
    let (full, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(cache::full(full.path()));
    fs::create_dir(packs_dir(dir.path())).unwrap();
    let cache = Cache::open(full.path(), StoreKind::Lmdb).unwrap();
    let root = write(&cache, &packs_dir(dir.path()).join("game.pack"));
    let (standing, name, path) = (PackStanding::Accepted, "game".to_owned(), "game.pack".into());
    let line = Listed { standing, root, version: 1, name, signer: None, path };
    PackList::change(dir.path(), |list| {
        list.0.push(line);
        Ok(())
    })
    .unwrap();
    dir
}

#[test]
fn a_pack_is_linked_from_as_a_store_is() {
    let dir = folder();
    let before: Vec<_> = fs::read_dir(packs_dir(dir.path())).unwrap().map(|found| found.unwrap().path()).collect();
    let context = context(Some(dir.path()));
    let (shaders, state) = (pair(&context), state());
    let layout = Layout::new(&state.layout).unwrap();
    let shaders = [&shaders[0], &shaders[1]];
    let info = of(&shaders, &layout, &state, NONE);
    let mut out = vec![0; linked().len()];
    context.link_into(&info, &mut out).unwrap();
    assert_eq!(out, linked());
    let stats = context.stats().unwrap();
    assert_eq!((stats.disk_hits, stats.misses, stats.bad), (2, 0, 0));
    assert_eq!(shader(&context, Stage::Vertex, 9).status().unwrap(), ShaderStatus::NotCached);
    assert!(context.cache_error().unwrap().is_none());
    // Nothing was written.
    let after: Vec<_> = fs::read_dir(packs_dir(dir.path())).unwrap().map(|found| found.unwrap().path()).collect();
    assert!(before == after && fs::read_dir(dir.path()).unwrap().count() == 1);
}

#[test]
fn a_pack_that_was_not_added_is_refused_counted_and_named() {
    let dir = folder();
    let path = packs_dir(dir.path()).join("game.pack");
    let key = keys::stage(&request(Stage::Vertex, module(1)), &cache::compiler()).unwrap();
    let other = Cache::new(Box::new(MemoryStore::default()));
    other.put(&key, b"anything").unwrap();
    let good = fs::read(&path).unwrap();
    let truncated = || fs::write(&path, &good[..good.len() - 1]).unwrap();
    let foreign = || _ = write(&other, &path);
    let deleted = || fs::remove_file(&path).unwrap();
    for (break_it, why) in
        [(&truncated as &dyn Fn(), "copy it again"), (&foreign, "not the pack that was added"), (&deleted, "game.pack")]
    {
        break_it();
        let context = context(Some(dir.path()));
        // The compiler that the pack recorded is not known either, so there is no key to look for.
        assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::NotCached, "{why}");
        assert!(context.stats().unwrap().bad > 0, "{why}");
        let told = context.cache_error().unwrap().expect(why).to_string();
        assert!(told.contains(why), "{told}");
    }
    // It can be mended while the driver runs.
    let context = context(Some(dir.path()));
    fs::write(&path, &good).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
}
