//! The example driver in C, with few pipelines: what it waits for with a service is later found without one.

use crate::harness::Service;
use crate::library::Library;
use crate::support::{glsl, root};
use std::path::Path;
use std::process::Command;

#[test]
fn the_mini_driver_finds_what_the_service_has_compiled() {
    let mut service = Service::start(&[]);
    let dir = service.dir.path().to_owned();
    for name in ["scene.vert", "scene.frag"] {
        let test = "the_mini_driver_finds_what_the_service_has_compiled";
        let Some(code) = glsl(test, &root().join("examples/minidriver").join(name), "vulkan1.1") else { return };
        std::fs::write(dir.join(format!("{name}.spv")), code).unwrap();
    }
    let program = dir.join("minidriver");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-I"]).arg(root().join("include"));
    cc.arg(root().join("examples/minidriver/minidriver.c")).arg("-o").arg(&program).args(Library::built().shared());
    assert!(cc.status().expect("cc").success());
    drop(service.client());
    let (cache, socket) = (service.cache_dir(), service.socket());
    let play = |way: &str, arguments: &[&Path]| {
        let mut command = Command::new(&program);
        command.arg(way).args(["--pipelines", "6", "--frames", "30", "--shaders"]).arg(&dir);
        command.arg("--cache").arg(&cache).arg("--dump").arg(&dir).args(arguments);
        let done = command.output().expect("the program");
        assert!(done.status.success(), "{way}: {}", String::from_utf8_lossy(&done.stderr));
        let said = String::from_utf8(done.stdout).unwrap();
        // In these modes every pipeline is ready in the frame that needs it.
        assert!(said.contains("6 pipelines; 0 late") && said.contains("linked 6"), "{way}: {said}");
        std::fs::read(dir.join(format!("0-{way}-1.elf"))).expect("what the first pipeline is")
    };
    let waited = play("first", &[Path::new("--socket"), &socket]);
    // Everything sent has been stored when it exits.
    service.terminate();
    assert!(service.wait().success());
    assert!(play("warm", &[Path::new("--runs"), Path::new("2")]) == waited);
}
