//! Writes the inputs of the picture in the README for `dovetail run` (see `./dev picture`):
//! `picture knot SIZE` the mesh, `picture half SIZE target0.bin` what it left, to half its size.

mod geometry;
mod scene;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let inputs = match words[..] {
        ["knot", size] => scene::knot(number(size), 8),
        ["half", size, path] => {
            scene::half(number(size), std::fs::read(path).unwrap_or_else(|e| fail(&format!("{path}: {e}"))))
        }
        _ => fail("picture knot SIZE | picture half SIZE FILE"),
    };
    print!("{}", toml::to_string(&inputs).unwrap_or_else(|e| fail(&e.to_string())));
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| fail(&format!("`{text}` is no size")))
}

fn fail(why: &str) -> ! {
    eprintln!("picture: {why}");
    std::process::exit(2)
}
