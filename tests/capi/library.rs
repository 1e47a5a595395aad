//! The library as `./dev capi` builds it, in the profile of the test or benchmark that uses it.
#![allow(dead_code, reason = "the benchmark uses a part of it")]

use crate::support::{BuildFolder, run};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A built library.
pub struct Library {
    folder: PathBuf,
}

impl Library {
    /// Built once per process. Cargo's lock keeps several processes from building at the same time.
    pub fn built() -> &'static Self {
        static BUILT: OnceLock<Library> = OnceLock::new();
        BUILT.get_or_init(Self::build)
    }

    fn build() -> Self {
        let here = BuildFolder::of_this_program();
        let mut cargo = here.cargo("rustc");
        cargo.args(["-p", "dovetail-capi", "--crate-type", "cdylib,staticlib", "--"]);
        // The same as in `./dev capi`.
        cargo.args(["-Clink-arg=-Wl,-soname,libdovetail.so.0", "-Clink-arg=-Wl,-z,nodelete,-z,now"]);
        run(cargo);
        let folder = here.files();
        // What a program looks for when it starts is the name in the file.
        for (file, name) in [("so", "so.0"), ("so", "so"), ("a", "a")] {
            let link = folder.join(format!("libdovetail.{name}"));
            if !link.exists() {
                let _ = std::os::unix::fs::symlink(format!("libdovetail_capi.{file}"), &link);
            }
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
