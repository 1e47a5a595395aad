//! The library as `./dev capi` builds it, but without optimization.
#![allow(dead_code, reason = "the benchmark uses a part of it")]

use crate::support::root;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A built library.
pub struct Library {
    folder: PathBuf,
}

impl Library {
    /// Built once per process; cargo's lock serialises concurrent processes.
    pub fn built() -> &'static Self {
        static BUILT: OnceLock<Library> = OnceLock::new();
        BUILT.get_or_init(|| Self::build(&[], "debug"))
    }

    /// Builds with these arguments to cargo; its output is in `profile`.
    pub fn build(arguments: &[&str], profile: &str) -> Self {
        // The test program is TARGET/PROFILE/deps/NAME.
        let program = std::env::current_exe().expect("this program");
        let target = program.ancestors().nth(3).expect("a folder of cargo's");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root()).env("CARGO_TARGET_DIR", target);
        cargo.args(["rustc", "--quiet", "--lib", "--no-default-features", "--features", "capi"]).args(arguments);
        cargo.args(["--crate-type", "cdylib,staticlib", "--"]);
        // The same as in `./dev capi`.
        cargo.args(["-Clink-arg=-Wl,-soname,libdovetail.so.0", "-Clink-arg=-Wl,-z,nodelete,-z,now"]);
        let done = cargo.output().expect("cargo");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let folder = target.join(profile);
        // A program looks up the soname in the file when it starts.
        let link = folder.join("libdovetail.so.0");
        if !link.exists() {
            let _ = std::os::unix::fs::symlink("libdovetail.so", &link);
        }
        Self { folder }
    }

    /// The shared library.
    pub fn shared_file(&self) -> PathBuf {
        self.folder.join("libdovetail.so")
    }

    /// Arguments that link a program with the shared library.
    pub fn shared(&self) -> Vec<String> {
        let folder = self.folder.to_str().expect("a path in UTF-8");
        vec![format!("-L{folder}"), format!("-Wl,-rpath,{folder}"), "-ldovetail".to_owned()]
    }

    /// Arguments that link a program with the static library: with `Libs.private` of dovetail.pc.
    pub fn fixed(&self) -> Vec<String> {
        let file = self.folder.join("libdovetail.a");
        let file = file.to_str().expect("a path in UTF-8").to_owned();
        [&file, "-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"].map(str::to_owned).to_vec()
    }
}
