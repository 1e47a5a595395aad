//! C programs that use the library as a driver does: compiled as C99 and as C++11 without warnings, linked with the
//! shared and the static library, and run on a handmade cache.

use crate::cache::folder;
use crate::library::Library;
use crate::runtime::link_allocations;
use crate::support::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Language to compile a program as.
#[derive(Clone, Copy)]
enum As {
    C99,
    Cpp11,
}

/// Compiles a program of this folder and links it with `libraries`.
fn compile(name: &str, how: As, libraries: &[String], to: &Path) -> PathBuf {
    let (compiler, arguments): (&str, &[&str]) = match how {
        As::C99 => ("cc", &["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-x", "c"]),
        // Not every program uses all of the shared helpers.
        As::Cpp11 => ("c++", &["-std=c++11", "-Wall", "-Wextra", "-Werror", "-x", "c++"]),
    };
    let out = to.join(name);
    let mut command = Command::new(compiler);
    command.args(arguments).arg("-g").arg("-Wno-unused-function").arg("-I").arg(root().join("include"));
    command
        .arg("-I")
        .arg(to)
        .arg(root().join("tests/capi").join(name).with_extension("c"))
        .args(["-x", "none"])
        .arg("-o")
        .arg(&out);
    command.args(libraries).args(["-lpthread", "-ldl"]);
    let done = command.output().unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

fn run(program: &Path, arguments: &[&Path]) {
    let done = Command::new(program).args(arguments).output().expect("the program");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {}\n{said}", program.display(), done.status);
    print!("{}", String::from_utf8_lossy(&done.stdout));
}

/// Runs a program in both languages, with both libraries.
fn everywhere(name: &str) {
    let library = Library::built();
    let dir = folder();
    for (how, libraries) in [(As::C99, library.shared()), (As::Cpp11, library.shared()), (As::C99, library.fixed())] {
        run(&compile(name, how, &libraries, dir.path()), &[dir.path()]);
    }
    compile(name, As::Cpp11, &library.fixed(), dir.path());
}

#[test]
fn pipelines_are_linked_and_looked_at() {
    everywhere("link");
}

#[test]
fn what_is_no_argument_is_refused() {
    everywhere("arguments");
}

#[test]
fn small_threads_link_at_the_same_time() {
    everywhere("threads");
}

/// Uses the function that the manual gives for drivers.
#[test]
fn what_a_context_holds_goes_to_another_one() {
    let library = Library::built();
    let dir = folder();
    let manual = fs::read_to_string(root().join("docs/capi.md")).expect("the manual");
    let function = manual.split("```c\n").nth(2).and_then(|rest| rest.split("```").next()).expect("a second example");
    fs::write(dir.path().join("manual.h"), function).expect("the example");
    for (how, libraries) in [(As::C99, library.shared()), (As::Cpp11, library.shared()), (As::C99, library.fixed())] {
        run(&compile("export", how, &libraries, dir.path()), &[dir.path()]);
    }
}

/// C++ requires the order of the fields, C does not.
#[test]
fn the_manuals_example_is_cpp_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let manual = fs::read_to_string(root().join("docs/capi.md")).expect("the manual");
    let example = manual.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let file = dir.path().join("example.cpp");
    fs::write(&file, example).expect("the example");
    for (compiler, standard) in [("c++", "-std=c++20"), ("cc", "-std=c99")] {
        let language = if compiler == "cc" { "c" } else { "c++" };
        let mut command = Command::new(compiler);
        command.args([standard, "-pedantic", "-Wall", "-Werror", "-fsyntax-only", "-x", language]);
        let done = command.arg("-I").arg(root().join("include")).arg(&file).output().expect("a compiler");
        assert!(done.status.success(), "{standard}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn forks_have_their_own_contexts() {
    everywhere("fork");
}

#[test]
fn a_program_has_a_service() {
    use crate::cache::{compiler, whole};
    use crate::link_support;
    use crate::service_double::{Double, Reply, welcome};
    use dovetail::frame::Bytes;
    use dovetail::target::Stage;
    use dovetail::wire::{Ask, PartAnswer, PipelineAsk, StageAsk, Tell, Verdict};
    let part = |request: &_, elf: Vec<u8>| PartAnswer {
        key: dovetail::keys::stage(request, &compiler()).expect("a key"),
        elf: Some(Bytes(elf)),
    };
    let answers = move |ask: &Ask| match ask {
        Ask::Stage(StageAsk { id, request, .. }) => {
            let vertex = request.stage == Stage::Vertex;
            let made = if vertex { link_support::vertex() } else { link_support::fragment() };
            vec![Reply::Tell(Tell::Stage { id: *id, part: Some(part(request, made.build())) })]
        }
        Ask::Pipeline(PipelineAsk { id, state, .. }) => {
            let (vertex, fragment) = whole(state);
            let parts = [vertex, fragment].map(|(request, made)| part(&request, made.build())).into();
            vec![Reply::Tell(Tell::Pipeline { id: *id, verdict: Verdict::Take("in a test".into()), parts })]
        }
        _ => vec![],
    };
    let library = Library::built();
    for (how, libraries) in [(As::C99, library.shared()), (As::Cpp11, library.shared()), (As::C99, library.fixed())] {
        let dir = folder();
        let _service = Double::start(&dir.path().join("socket"), welcome(compiler()), answers);
        run(&compile("service", how, &libraries, dir.path()), &[dir.path()]);
    }
}

#[test]
fn a_link_asks_for_no_memory() {
    let library = Library::built();
    let dir = folder();
    let (of_link, of_link_into) = link_allocations(dir.path());
    assert_eq!((of_link, of_link_into), (0, 0), "calls for memory: of the link, of the run time's");
    let wrap = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign,--wrap=free".to_owned();
    let libraries: Vec<String> = library.fixed().into_iter().chain([wrap]).collect();
    for how in [As::C99, As::Cpp11] {
        let program = compile("allocations", how, &libraries, dir.path());
        run(&program, &[dir.path()]);
    }
}

#[test]
fn without_memory_calls_fail_and_nothing_ends() {
    let library = Library::built();
    let dir = folder();
    let wrap = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign".to_owned();
    let libraries: Vec<String> = library.fixed().into_iter().chain([wrap]).collect();
    for how in [As::C99, As::Cpp11] {
        run(&compile("memory", how, &libraries, dir.path()), &[dir.path()]);
    }
}

#[test]
fn copies_and_reloads_do_no_harm() {
    let library = Library::built();
    let dir = folder();
    let copy = dir.path().join("libother.so");
    fs::copy(library.shared_file(), &copy).expect("a copy");
    for how in [As::C99, As::Cpp11] {
        run(&compile("reload", how, &[], dir.path()), &[dir.path(), &library.shared_file(), &copy]);
    }
}

#[test]
fn the_library_has_its_name_and_shows_nothing_else() {
    let library = Library::built();
    let file = library.shared_file();
    let read = |tool: &str, arguments: &[&str]| {
        let done = Command::new(tool).args(arguments).arg(&file).output().unwrap_or_else(|e| panic!("{tool}: {e}"));
        String::from_utf8(done.stdout).expect("text")
    };
    let dynamic = read("readelf", &["-dW"]);
    assert!(dynamic.contains("[libdovetail.so.0]") && dynamic.contains("NODELETE"), "{dynamic}");
    for wanted in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        assert!(["libc.so", "libgcc_s", "libm.so", "ld-linux"].iter().any(|known| wanted.contains(known)), "{wanted}");
    }
    let symbols = read("nm", &["-D", "--defined-only"]);
    let shown: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let strange: Vec<_> = shown.iter().filter(|name| !name.starts_with("dvt_")).collect();
    assert!(shown.len() == 31 && strange.is_empty(), "{} shown, {strange:?}", shown.len());
}
