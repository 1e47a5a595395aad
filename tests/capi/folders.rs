//! Cache folders that cannot be read, or are named by a relative path.

use crate::cache;
use crate::runtime::{context, shader};
use crate::support;
use dovetail::runtime::{Context, ShaderStatus};
use dovetail::target::Stage;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Looks for a part in the cache at `DOVETAIL_TEST_CACHE`, which this process must not read.
#[test]
#[ignore = "started by another test"]
fn without_rights() {
    let dir = std::env::var_os("DOVETAIL_TEST_CACHE").expect("a cache");
    let context = context(Some(Path::new(&dir)));
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(Duration::ZERO).unwrap(), ShaderStatus::NotCached);
    let why = context.cache_error().unwrap().expect("a reason").to_string();
    assert!(why.contains("Permission denied") && why.contains(dir.to_str().unwrap()), "{why}");
}

#[test]
fn a_cache_that_cannot_be_read_says_so_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, broken) = (dir.path().join("cache"), dir.path().join("broken"));
    std::fs::write(&cache, "a file").unwrap();
    let of_file = context(Some(&cache));
    let why = |context: &Context| context.cache_error().unwrap().map(|why| why.to_string()).unwrap_or_default();
    assert!(why(&of_file).contains("cannot be read (Not a directory"), "{}", why(&of_file));
    assert_eq!(shader(&of_file, Stage::Vertex, 1).status().unwrap(), ShaderStatus::NotCached);
    std::fs::create_dir_all(broken.join("lmdb")).unwrap();
    std::fs::write(broken.join("lmdb/data.mdb"), [7; 9000]).unwrap();
    assert!(why(&context(Some(&broken))).contains("not meta pages"), "it is no database");
    std::fs::remove_file(&cache).unwrap();
    drop(cache::full(&cache));
    assert_eq!(shader(&of_file, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
    assert_eq!(why(&of_file), "");
    assert_eq!(why(&context(Some(&dir.path().join("not there")))), "");
}

#[test]
fn a_relative_path_stays_what_it_was() {
    // The working directory is the whole process's.
    if !support::alone("folders::a_relative_path_stays_what_it_was") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(&dir.path().join("cache")));
    std::env::set_current_dir(dir.path()).unwrap();
    let context = context(Some(Path::new("cache")));
    std::env::set_current_dir("/").unwrap();
    assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
}

#[test]
fn a_cache_that_is_another_users_is_none() {
    let test = "folders::a_cache_that_is_another_users_is_none";
    let dir = tempfile::tempdir().unwrap();
    cache::full(dir.path());
    let rights = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(&program);
    if rustix::process::geteuid().is_root() {
        let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let probe = Command::new("setpriv").args(as_nobody).arg("test").arg("-x").arg(&program).status();
        if !probe.is_ok_and(|status| status.success()) {
            return support::without(test, "no setpriv, or the tests are where other users cannot run them");
        }
        command = Command::new("setpriv");
        command.args(as_nobody).arg(&program);
    }
    command.args(["--ignored", "--exact", "folders::without_rights"]).env("DOVETAIL_TEST_CACHE", dir.path());
    // First the file, then the folder it is in.
    rights(dir.path(), 0o755);
    let file = dir.path().join("lmdb/data.mdb");
    for (path, before) in [(file.as_path(), 0o600), (dir.path(), 0o755)] {
        rights(path, 0);
        let out = command.output().unwrap();
        rights(path, before);
        assert!(out.status.success(), "{path:?}: {}", String::from_utf8_lossy(&out.stdout));
        assert!(String::from_utf8_lossy(&out.stdout).contains("1 passed"), "{path:?}");
    }
    // It is as good as before for its owner.
    assert_eq!(shader(&context(Some(dir.path())), Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
}
