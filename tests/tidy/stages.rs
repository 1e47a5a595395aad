//! What depends on a stage is asked so that the compiler names each place when there is another stage: by a `match` of all
//! stages, or by a method that has one (`stage.feeds_the_rasterizer()`, in `src/base/target/stage.rs`).

use crate::tree::{assert_none, product_lines, rust, tests_only, texts};

/// Types with a variant for each stage.
const STAGES: [&str; 3] = ["Stage", "HardwareStage", "StageKind"];
/// Code that does not follow the rule yet.
const LATER: &[&str] = &["src/compile/native/"];

/// The name of a path's last type, if a variant of it follows: `Stage` of `target::Stage::Vertex`.
fn type_of(code: &str) -> Option<&str> {
    let path = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next()?;
    path.rsplit("::").nth(1).filter(|ty| STAGES.contains(ty))
}

/// Whether a variant of a stage begins here, in brackets or not.
fn begins_with_stage(code: &str) -> bool {
    let code = code.trim_start().trim_start_matches(['(', '[', '&', ' ']);
    let code = ["Some(", "Ok("].iter().find_map(|head| code.strip_prefix(head)).unwrap_or(code);
    type_of(code.trim_start_matches(['(', '&'])).is_some()
}

/// Whether a line compares with one stage, or takes one apart from all others.
fn asks_for_one(code: &str) -> bool {
    let compares = ["== ", "!= ", "let ", ".contains(&"]
        .into_iter()
        .flat_map(|head| code.match_indices(head).map(move |(at, _)| at + head.len()))
        .any(|at| begins_with_stage(&code[at..]));
    let matched = code.split("matches!(").skip(1).any(|rest| {
        // The pattern comes after the first comma.
        rest.split(',').skip(1).any(begins_with_stage)
    });
    compares || matched
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether an arm takes all stages that are not named: `_ =>` or a name, after an arm of the same `match` that begins with a
/// stage.
fn takes_the_rest(before: &[(usize, &str)], line: &str) -> bool {
    let arm = line.trim();
    let name = arm.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    let any = name.starts_with(|c: char| c.is_lowercase() || c == '_') && arm[name.len()..].starts_with(" =>");
    let siblings =
        before.iter().rev().take_while(|(_, other)| other.trim().is_empty() || indent(other) >= indent(line));
    any && siblings.filter(|(_, other)| indent(other) == indent(line)).any(|(_, other)| begins_with_arm(other))
}

/// Whether an arm's pattern is a stage, not a tuple with one.
fn begins_with_arm(line: &str) -> bool {
    let arm = line.trim_start();
    type_of(arm.strip_prefix("Some(").unwrap_or(arm)).is_some()
}

fn broken_lines(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = product_lines(text).collect();
    let bad =
        lines.iter().enumerate().filter(|(n, (_, code))| asks_for_one(code) || takes_the_rest(&lines[..*n], code));
    bad.map(|(_, (number, code))| (*number, code.trim().to_owned())).collect()
}

#[test]
fn no_code_asks_for_one_stage_and_forgets_the_others() {
    let texts = texts();
    let product = rust(&texts).filter(|(name, _)| name.starts_with("src/") || name.starts_with("layer/src/"));
    let product = product.filter(|(name, _)| !LATER.iter().any(|later| name.starts_with(later)));
    let mut broken = Vec::new();
    for (name, text) in product.filter(|(name, _)| !tests_only(name, &texts)) {
        broken.extend(broken_lines(text).into_iter().map(|(number, code)| format!("{name}:{number}: {code}")));
    }
    assert_none(
        &broken,
        "tests for one stage: match all of them, or add a method with a `match` to src/base/target/stage.rs",
    );
}

#[test]
fn the_rule_sees_what_it_is_for() {
    for bad in [
        "if stage == Stage::Vertex {",
        "let x = self.stage != target::Stage::Compute;",
        "if (a.stage(), b.stage()) == (Stage::Vertex, Stage::Fragment) {",
        "if e.stage == Some(Stage::Compute) {",
        "if let Stage::Vertex = stage {",
        "if let Some(Stage::Vertex) = stage {",
        "let HardwareStage::Vs = stage else { return };",
        "let StageKind::Vertex(vertex) = &interface.kind else { return };",
        "matches!(stage, Stage::Vertex | Stage::Fragment)",
        "expected.contains(&Stage::Vertex)",
        "match stage {\n    Stage::Vertex => 1,\n    _ => 2,\n}",
        "match stage {\n    Some(Stage::Vertex) => {\n        1\n    }\n    other => 2,\n}",
    ] {
        assert_eq!(broken_lines(bad).len(), 1, "{bad}");
    }
    for good in [
        "let all = [Stage::Vertex, Stage::Fragment];",
        "let stage = Stage::Vertex;",
        "let shape = stage(HardwareStage::Vs, &[Stage::Vertex]);",
        "if state.stage == other.stage {",
        "matches!(sample.stage, SampleStage::Submitted(_))",
        "match stage {\n    Stage::Vertex => 1,\n    Stage::Fragment | Stage::Compute => 2,\n}",
        "match (stage, builtin) {\n    (Stage::Vertex, Position) => 1,\n    _ => 2,\n}",
        "match stage {\n    Stage::Vertex => match n {\n        0 => 1,\n        _ => 2,\n    },\n    Stage::Fragment => 3,\n}",
    ] {
        assert_eq!(broken_lines(good), [], "{good}");
    }
}
