//! A program as pseudo-code, to read.

use super::program::{Cond, Expr, Index, LoopKind, Math, Program, Stmt, Tangled};
use std::fmt::Write;

/// The code, each line of which begins with `//`.
pub fn code(program: &Program) -> String {
    let mut out = String::new();
    for (n, f) in program.functions.iter().enumerate().rev() {
        line(&mut out, 0, &format!("f{n}(v0) {{"));
        list(&mut out, 1, 0, &f.body);
        line(&mut out, 1, &format!("return {};", expr(&f.result)));
        line(&mut out, 0, "}");
    }
    line(&mut out, 0, "main() { v0 = lane;");
    list(&mut out, 1, 0, &program.main);
    line(&mut out, 0, "}");
    out
}

fn line(out: &mut String, indent: usize, text: &str) {
    let _ = writeln!(out, "// {}{text}", "  ".repeat(indent));
}

fn list(out: &mut String, indent: usize, depth: usize, list: &[Stmt]) {
    list.iter().for_each(|s| stmt(out, indent, depth, s));
}

fn stmt(out: &mut String, indent: usize, depth: usize, s: &Stmt) {
    let text = match s {
        Stmt::Set(v, e) => format!("v{v} = {};", expr(e)),
        Stmt::Tangled(v, t) => format!("v{v} = note({});", tangled(t)),
        Stmt::Read(v, i, e) => format!("v{v} = note(buffers[{}][{}]);", index(i), expr(e)),
        Stmt::Fetch(v, i) => format!("v{v} = note(textures[{}]);", index(i)),
        Stmt::Add(at, e) => format!("sums[{}] += {};", expr(at), expr(e)),
        Stmt::If { cond: c, then, els, bare } => {
            line(out, indent, &format!("if ({}) {{{}", cond(c), if *bare { " // bare" } else { "" }));
            list(out, indent + 1, depth, then);
            if !els.is_empty() {
                line(out, indent, "} else {");
                list(out, indent + 1, depth, els);
            }
            "}".to_owned()
        }
        Stmt::Loop { kind, body, next } => {
            let head = match kind {
                LoopKind::Head { limit, apart } => {
                    let apart = if *apart { " // apart" } else { "" };
                    format!("for (k{depth} = 0; k{depth} < ({} & 7); k{depth}++) {{{apart}", expr(limit))
                }
                LoopKind::Tail { .. } => format!("k{depth} = 0; do {{"),
                LoopKind::Data { from } => {
                    format!("for (k{depth} = 0;; k{depth}++) {{ d{depth} = data[({} & 15) + k{depth}];", expr(from))
                }
            };
            line(out, indent, &head);
            list(out, indent + 1, depth + 1, body);
            if !next.is_empty() {
                line(out, indent, "continuing:");
                list(out, indent + 1, depth + 1, next);
            }
            match kind {
                LoopKind::Tail { limit } => format!("}} while (++k{depth} < ({} & 7));", expr(limit)),
                _ => "}".to_owned(),
            }
        }
        Stmt::Switch { on, cases } => {
            line(out, indent, &format!("switch ({} & 7) {{", expr(on)));
            for case in cases {
                let labels: String = case.labels.iter().map(|n| format!("case {n}: ")).collect();
                line(out, indent, &format!("{labels}{}", if case.default { "default:" } else { "" }));
                list(out, indent + 1, depth, &case.body);
                line(out, indent + 1, if case.falls { "// falls" } else { "break;" });
            }
            "}".to_owned()
        }
        Stmt::Break => "break;".to_owned(),
        Stmt::Continue => "continue;".to_owned(),
        Stmt::Return(e) => format!("return {};", expr(e)),
        Stmt::Kill { terminate } => if *terminate { "terminate;" } else { "kill;" }.to_owned(),
        Stmt::Demote => "demote; return;".to_owned(),
        Stmt::Call(v, f, e) => format!("v{v} = f{f}({});", expr(e)),
    };
    line(out, indent, &text);
}

fn expr(e: &Expr) -> String {
    match e {
        Expr::Lane => "lane".to_owned(),
        Expr::Const(n) => n.to_string(),
        Expr::Var(v) => format!("v{v}"),
        Expr::Count(d) => format!("k{d}"),
        Expr::Data(d) => format!("d{d}"),
        Expr::In(e) => format!("in[{}]", expr(e)),
        Expr::Two(math, a, b) => {
            let sign = match math {
                Math::Add => "+",
                Math::Mul => "*",
                Math::And => "&",
                Math::Xor => "^",
                Math::Shr => ">>",
            };
            format!("({} {sign} {})", expr(a), expr(b))
        }
    }
}

fn cond(c: &Cond) -> String {
    match c {
        Cond::Less(a, b) => format!("{} < {}", expr(a), expr(b)),
        Cond::Same(a, b) => format!("{} == {}", expr(a), expr(b)),
        Cond::Odd(e) => format!("odd({})", expr(e)),
        Cond::Not(c) => format!("!({})", cond(c)),
        Cond::Both(a, b) => format!("({}) & ({})", cond(a), cond(b)),
        Cond::Elect => "elect()".to_owned(),
        Cond::Any(c) => format!("any({})", cond(c)),
        Cond::All(c) => format!("all({})", cond(c)),
    }
}

fn tangled(t: &Tangled) -> String {
    match t {
        Tangled::Ballot(c) => format!("ballot({})", cond(c)),
        Tangled::BallotCount(c) => format!("count(ballot({}))", cond(c)),
        Tangled::BallotRank(c) => format!("rank(ballot({}))", cond(c)),
        Tangled::Vote(c) => format!("vote({})", cond(c)),
        Tangled::AllEqual(e) => format!("allEqual({})", expr(e)),
        Tangled::Sum(e) => format!("sum({})", expr(e)),
        Tangled::Min(e) => format!("min({})", expr(e)),
        Tangled::Max(e) => format!("max({})", expr(e)),
        Tangled::Before(e) => format!("sumBefore({})", expr(e)),
        Tangled::First(e) => format!("first({})", expr(e)),
    }
}

fn index(i: &Index) -> String {
    match i {
        Index::Count(d) => format!("k{d}"),
        Index::First(e) => format!("first({})", expr(e)),
    }
}
