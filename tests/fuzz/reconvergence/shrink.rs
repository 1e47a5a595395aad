//! Shrinks a failing program while it fails in the same way.
//!
//! It works on the tree as JSON: parts of lists are left out, and a part of the tree is replaced by one below it or by a
//! constant. What is no program any more, or one that does not end, does not fail in the same way.

use super::Input;
use super::program::Program;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Time after which no new attempt starts.
const PATIENCE: Duration = Duration::from_secs(25);

/// A smaller input for which `how` returns the same, but for numbers.
pub fn shrink(bytes: &[u8], how: &dyn Fn(&[u8]) -> Option<String>) -> Vec<u8> {
    let (Ok(mut input), Some(what)) = (Input::parse(bytes), how(bytes)) else { return bytes.to_vec() };
    let what = kind(&what);
    let end = Instant::now() + PATIENCE;
    let same = |input: &Input| Instant::now() < end && how(&input.bytes()).is_some_and(|other| kind(&other) == what);
    for change in Input::SIMPLER {
        let mut simpler = input.clone();
        change(&mut simpler);
        if simpler != input && same(&simpler) {
            input = simpler;
        }
    }
    loop {
        let before = input.program.clone();
        let tree = serde_json::to_value(&before).expect("a tree");
        let mut paths = Vec::new();
        walk(&tree, &mut Vec::new(), &mut paths);
        for path in paths {
            // Later paths may lead elsewhere once something was left out; those that lead nowhere change nothing.
            let tree = serde_json::to_value(&input.program).expect("a tree");
            for smaller in at(&tree, &path).map(simpler).unwrap_or_default() {
                let mut changed = tree.clone();
                if let Some(slot) = at_mut(&mut changed, &path) {
                    *slot = smaller;
                }
                let Ok(program) = serde_json::from_value::<Program>(changed) else { continue };
                let attempt = Input { program, ..input.clone() };
                if attempt.program != input.program && same(&attempt) {
                    input = attempt;
                    break;
                }
            }
        }
        if input.program == before {
            return input.bytes();
        }
    }
}

/// A message without numbers.
fn kind(what: &str) -> String {
    what.split(' ').filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect::<Vec<_>>().join(" ")
}

type Path = Vec<String>;

/// The paths of everything in a tree, from the top.
fn walk(tree: &Value, path: &mut Path, out: &mut Vec<Path>) {
    out.push(path.clone());
    let inner: Vec<(String, &Value)> = match tree {
        Value::Array(list) => list.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        Value::Object(map) => map.iter().map(|(name, v)| (name.clone(), v)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        path.push(name);
        walk(value, path, out);
        path.pop();
    }
}

fn at<'a>(tree: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(tree, |tree, name| match tree {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => tree.get(name),
    })
}

fn at_mut<'a>(tree: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(tree, |tree, name| match tree {
        Value::Array(list) => list.get_mut(name.parse::<usize>().ok()?),
        _ => tree.get_mut(name),
    })
}

/// What a part may be replaced by, what saves most first.
fn simpler(part: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    match part {
        Value::Array(list) => {
            let mut size = list.len();
            while size > 0 {
                for from in (0..list.len()).step_by(size) {
                    let rest = list.iter().enumerate().filter(|(n, _)| !(from..from + size).contains(n));
                    out.push(Value::Array(rest.map(|(_, v)| v.clone()).collect()));
                }
                size /= 2;
            }
            // A statement's own lists instead of it.
            for (n, stmt) in list.iter().enumerate() {
                let mut lists = Vec::new();
                lists_of(stmt, &mut lists);
                for inner in lists {
                    let mut spliced = list.clone();
                    spliced.splice(n..=n, inner);
                    out.push(Value::Array(spliced));
                }
            }
        }
        Value::Object(map) => {
            out.push(json!({ "Const": 0 }));
            out.push(json!({ "Const": 1 }));
            for inner in map.values() {
                match inner {
                    Value::Array(list) => out.extend(list.iter().filter(|v| v.is_object() || v.is_string()).cloned()),
                    other => out.push(other.clone()),
                }
            }
        }
        Value::Bool(true) => out.push(json!(false)),
        Value::Number(n) if n.as_u64() > Some(1) => out.extend([json!(0), json!(1)]),
        _ => {}
    }
    out
}

/// The lists of statements in a statement.
fn lists_of(stmt: &Value, out: &mut Vec<Vec<Value>>) {
    let Value::Object(map) = stmt else { return };
    for (name, value) in map {
        match value {
            Value::Array(list) if ["then", "els", "body", "next"].contains(&name.as_str()) => out.push(list.clone()),
            Value::Array(list) if name == "cases" => list.iter().for_each(|case| lists_of(case, out)),
            Value::Object(_) => lists_of(value, out),
            _ => {}
        }
    }
}
