//! A client whose own disk does not answer.

use super::*;
use dovetail::cache::{Cache, DEFAULT_MAP_BYTES, Key, LmdbStore, Store};
use std::sync::{Arc, Condvar, Mutex};

/// A disk whose reads do not return while it is held up; but they do after some time, so that a test fails that waits for
/// them.
struct Disk {
    store: LmdbStore,
    held_up: Arc<(Mutex<bool>, Condvar)>,
}

impl Store for Disk {
    fn get(&self, key: &Key) -> dovetail::error::Result<Option<Vec<u8>>> {
        let (held_up, changed) = &*self.held_up;
        drop(changed.wait_timeout_while(held_up.lock().unwrap(), LONG, |held_up| *held_up).unwrap());
        self.store.get(key)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> dovetail::error::Result<()> {
        self.store.put(key, bytes)
    }
}

#[test]
fn without_the_disk_calls_return_and_waits_end_with_their_timeout() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let _service = folder.serve(honest);
    let held_up = Arc::new((Mutex::new(false), Condvar::new()));
    let store = LmdbStore::open(&folder.cache().join("lmdb"), DEFAULT_MAP_BYTES);
    let (socket, disk) = (folder.socket(), Disk { store, held_up: held_up.clone() });
    let info = ContextInfo { max_memory: 1 << 20, socket: Some(&socket), ..ContextInfo::new(Gpu::Gfx1030) };
    let context = Context::with_cache(&info, Cache::new(Box::new(disk))).unwrap();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let hold_up = |whether: bool| {
        *held_up.0.lock().unwrap() = whether;
        held_up.1.notify_all();
    };
    hold_up(true);
    let (begun, short) = (Instant::now(), Duration::from_millis(100));
    let cold = shader_with(&context, Stage::Compute, 3, |info| info.no_disk = true);
    assert_eq!(cold.status().unwrap(), ShaderStatus::Pending);
    assert_eq!(cold.wait(short).unwrap(), ShaderStatus::Pending);
    let waiting = pipeline(&context, &[&cold], PipelineFlags::NO_DISK);
    assert_eq!(waiting.wait(1, short).unwrap().phase, Phase::Pending(Stage::Compute));
    // The context's thread is reading already.
    let other = pipeline(&context, &[&cold], PipelineFlags::default());
    assert_eq!(other.wait(1, short).unwrap().phase, Phase::Pending(Stage::Compute));
    // What is in memory is linked.
    let linked = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    assert_eq!(linked.generation(), 1);
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    hold_up(false);
    assert_eq!(cold.wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!(waiting.wait(1, LONG).unwrap().generation, 1);
}
