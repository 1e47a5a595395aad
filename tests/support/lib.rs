//! Shared by integration tests: external tools to compare with, and the handling of missing tools.
//!
//! A test that needs a tool requests it by [`tool`]. If the tool is missing, the test prints its own name and passes on
//! a developer's machine, and fails if `CI` is set: a comparison that CI skips proves nothing.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Path of the repository.
pub fn root() -> &'static Path {
    const SUPPORT: &str = env!("CARGO_MANIFEST_DIR");
    Path::new(SUPPORT.strip_suffix("/tests/support").expect("the folder of this crate"))
}

/// Cargo's target folder and profile that this program was built in. What a test builds goes there too.
pub struct BuildFolder {
    target: PathBuf,
    profile: String,
}

impl BuildFolder {
    /// From the path of this program, which is TARGET/PROFILE/deps/NAME.
    pub fn of_this_program() -> Self {
        let program = env::current_exe().expect("this program");
        let folder = program.ancestors().nth(2).expect("a folder of cargo's");
        let profile = folder.file_name().expect("a profile").to_str().expect("a profile of ours");
        Self { target: folder.parent().expect("a folder of cargo's").to_owned(), profile: profile.to_owned() }
    }

    /// `cargo` with this command, building into this folder in this profile.
    pub fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        // Cargo puts the files of the profile `dev` into `debug`.
        let profile = if self.profile == "debug" { "dev" } else { &self.profile };
        cargo.current_dir(root()).env("CARGO_TARGET_DIR", &self.target);
        cargo.args([command, "--quiet", "--profile", profile]);
        cargo
    }

    /// What cargo has built: `target/debug`, for example.
    pub fn files(&self) -> PathBuf {
        self.target.join(&self.profile)
    }
}

/// Runs a command that has to succeed.
pub fn run(mut command: Command) {
    let done = command.output().expect("a program");
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// An external program.
pub struct Tool {
    name: &'static str,
    path: PathBuf,
}

/// The program `name`, such as `llvm-mc-19`, for the test `test`. `None` means that the test must return; the skip has
/// been recorded.
#[must_use]
pub fn tool(test: &str, name: &'static str) -> Option<Tool> {
    let found = find(name);
    if found.is_none() {
        skip(test, &format!("{name} is missing"));
    }
    found.map(|path| Tool { name, path })
}

/// Records that `test` could not run; fails in CI.
pub fn skip(test: &str, why: &str) {
    assert!(env::var_os("CI").is_none(), "{test}: {why}; CI skips nothing");
    without(test, why);
}

/// Records that `test` had no inputs: those that a developer fetches and CI does not.
pub fn without(test: &str, why: &str) {
    eprintln!("skipped {test}: {why}");
    // Test runners swallow output, so `./dev test` reads the names from this file.
    let Some(list) = env::var_os("DOVETAIL_SKIPPED") else { return };
    let mut list = OpenOptions::new().create(true).append(true).open(list).expect("the list of skipped tests");
    writeln!(list, "{test}: {why}").expect("the list of skipped tests");
}

/// Returns whether this process runs only `test` (named with its modules). If not, runs the test in a new process,
/// fails if that fails, and returns false. For tests that inspect properties of their whole process.
#[must_use]
pub fn alone(test: &str) -> bool {
    const ALONE: &str = "DOVETAIL_TEST_ALONE";
    if env::var_os(ALONE).is_some_and(|named| named == *test) {
        return true;
    }
    let program = env::current_exe().expect("this program");
    let status = Command::new(program).args(["--exact", test, "--nocapture"]).env(ALONE, test).status();
    assert!(status.expect("this program again").success(), "{test} failed in a process of its own");
    false
}

/// Searches `PATH` for the name, and LLVM's own folder for the name without its version.
fn find(name: &str) -> Option<PathBuf> {
    let in_path = env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).collect::<Vec<_>>();
    let in_prefix = env::var_os("LLVM_SYS_191_PREFIX")
        .zip(name.strip_suffix("-19"))
        .map(|(prefix, plain)| Path::new(&prefix).join("bin").join(plain));
    in_path.into_iter().chain(in_prefix).find(|path| path.is_file())
}

/// Assembles SPIR-V from text; `None` if the assembler is missing.
#[must_use]
pub fn assembly(test: &str, path: &Path) -> Option<Vec<u8>> {
    let assembler = tool(test, "spirv-as")?;
    Some(assembler.module(&["--target-env", "spv1.6"], path))
}

/// Compiles a GLSL file to SPIR-V; `None` if the compiler is missing. `target` is for example `vulkan1.1`.
#[must_use]
pub fn glsl(test: &str, path: &Path, target: &str) -> Option<Vec<u8>> {
    let compiler = tool(test, "glslangValidator")?;
    Some(compiler.module(&["-V", "--target-env", target], path))
}

/// Output of an LLVM tool for some bytes; it must not complain.
///
/// # Panics
/// The tool is missing or complains.
pub fn llvm_tool(tool: &str, args: &[&str], bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().expect("a file of ours, and the tool");
    std::fs::write(file.path(), bytes).expect("a file of ours, and the tool");
    let out = Command::new(tool).args(args).arg(file.path()).output().expect("a file of ours, and the tool");
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && errors.is_empty(), "{tool}: {errors}\n{text}");
    text.into_owned()
}

/// The disassembler's text of each instruction of gfx1030's `code`, for waves of `lanes`; `None` if it is missing.
#[must_use]
pub fn disassemble(test: &str, lanes: u32, code: &[u8]) -> Option<Vec<String>> {
    let tool = tool(test, "llvm-mc-19")?;
    let bytes: Vec<String> = code.iter().map(|b| format!("{b:#04x}")).collect();
    let attributes = format!("-mattr=+wavefrontsize{lanes}");
    let args = ["-arch=amdgcn", "-mcpu=gfx1030", "--disassemble", &attributes];
    let text = String::from_utf8(tool.run(&args, bytes.join(" ").as_bytes())).expect("text");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.'));
    Some(lines.map(|line| line.split(" ;").next().unwrap_or("").trim().to_owned()).collect())
}

impl Tool {
    /// The module that the tool writes from a source file. A dozen tests compile the same sources, each in a process of its
    /// own, so modules are kept under the digest of what they depend on.
    fn module(&self, arguments: &[&str], source: &Path) -> Vec<u8> {
        let text = |p: &Path| p.to_str().expect("a path in UTF-8").to_owned();
        let program = std::fs::metadata(&self.path).expect("the tool");
        let content = std::fs::read(source).expect("the source");
        let facts = (&self.path, program.len(), program.modified().ok(), arguments, source.extension(), content);
        let digest = blake3::hash(format!("{facts:?}").as_bytes()).to_hex();
        let folder = BuildFolder::of_this_program().target.join("tmp/dovetail-modules");
        let kept = folder.join(digest.as_str());
        if let Ok(module) = std::fs::read(&kept) {
            return module;
        }
        std::fs::create_dir_all(&folder).expect("a folder");
        let out = tempfile::NamedTempFile::new_in(&folder).expect("a file");
        self.run(&[arguments, &["-o", &text(out.path()), &text(source)]].concat(), &[]);
        let module = std::fs::read(out.path()).expect("the module");
        // Complete at once, because another test may look for it now.
        out.persist(kept).expect("the kept module");
        module
    }

    /// Runs the tool with this input and returns its output; fails the test if the tool fails.
    pub fn run(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let output = self.output(arguments, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {arguments:?}: {}\n{errors}", self.name, output.status);
        output.stdout
    }

    /// Runs the tool with this input, whatever its status.
    pub fn output(&self, arguments: &[&str], input: &[u8]) -> Output {
        let started = Command::new(&self.path)
            .args(arguments)
            // A tool of LLVM that dies takes seconds to name its functions.
            .env("LLVM_DISABLE_SYMBOLIZATION", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let mut stdin = child.stdin.take().expect("stdin was asked for");
        std::thread::scope(|scope| {
            // A failing tool may close its input early; its status is a better report than our write error.
            scope.spawn(move || {
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap_or_else(|e| panic!("{}: {e}", self.name))
        })
    }
}
