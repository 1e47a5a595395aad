//! Random programs whose loops all end.
//!
//! A loop that tests in its head or its tail counts up to a limit. One that tests nowhere reads data that at last is
//! greater than [`LAST`]: it continues only where the data is less, and somewhere in its body, which every iteration of
//! greater data reaches, it is left.

use super::super::random::Random;
use super::program::{Case, Cond, DEPTH, Expr, Function, Index, LAST, LoopKind, Math, Program, Stmt, Tangled, VARS};

/// A random program.
pub fn program(random: &mut Random, fragment: bool) -> Program {
    let functions = random.below(4);
    let size = 8 + random.below(30);
    let mut make = Maker { random, fragment, functions, left: size };
    let main = make.list(Place { main: true, ..Place::default() });
    let functions = (0..functions).map(|n| {
        make.left = 4 + make.random.below(14);
        let place = Place { callee: n + 1, ..Place::default() };
        Function { body: make.list(place), result: make.expr(place, 1) }
    });
    Program { functions: functions.collect(), main }
}

struct Maker<'a> {
    random: &'a mut Random,
    fragment: bool,
    /// Functions of the program.
    functions: usize,
    /// Statements that may still be made.
    left: usize,
}

/// Where a statement stands.
#[derive(Clone, Copy, Default)]
struct Place {
    main: bool,
    /// The first function that may be called.
    callee: usize,
    /// Loops around it.
    depth: usize,
    /// Constructs around it.
    nesting: usize,
    /// Whether `break` leaves something.
    breaks: bool,
    /// The innermost loop tests nowhere.
    endless: bool,
    /// In what a loop does where it continues.
    next: bool,
}

impl Maker<'_> {
    fn once_in(&mut self, n: usize) -> bool {
        self.random.once_in(n)
    }

    fn var(&mut self) -> u8 {
        self.random.below(VARS) as u8
    }

    fn constant(&mut self) -> Expr {
        Expr::Const(*self.random.pick(&[0, 1, 2, 3, 3, 4, 5, 7, 8, 16, 31, 33, 40, 100]))
    }

    /// The number of a loop around it, more often an inner one.
    fn depth(&mut self, at: Place) -> Option<u8> {
        let back = if self.once_in(3) { self.random.below(at.depth) } else { 0 };
        at.depth.checked_sub(1 + back).map(|d| d as u8)
    }

    fn expr(&mut self, at: Place, size: usize) -> Expr {
        if size > 0 && !self.once_in(3) {
            if self.once_in(3) {
                return Expr::In(Box::new(self.expr(at, size - 1)));
            }
            let math = *self.random.pick(&[Math::Add, Math::Add, Math::Mul, Math::And, Math::Xor, Math::Shr]);
            return Expr::Two(math, Box::new(self.expr(at, size - 1)), Box::new(self.expr(at, size - 1)));
        }
        let depth = self.depth(at);
        match (self.random.below(6), depth) {
            (0 | 1, _) => Expr::Lane,
            (2, Some(d)) => Expr::Count(d),
            (3, Some(d)) => Expr::Data(d),
            (4, _) => self.constant(),
            _ => Expr::Var(self.var()),
        }
    }

    /// What lanes part by.
    fn cond(&mut self, at: Place, size: usize) -> Cond {
        let boxed = |c: Cond| Box::new(c);
        match self.random.below(12) {
            0 | 1 => Cond::Less(self.expr(at, size), self.expr(at, 0)),
            2 => {
                let low = Expr::Two(Math::And, Box::new(self.expr(at, size)), Box::new(Expr::Const(3)));
                Cond::Same(low, Expr::Const(self.random.below(4) as u32))
            }
            3 if at.depth > 0 => {
                let low = Expr::Two(Math::And, Box::new(Expr::Lane), Box::new(Expr::Const(3)));
                Cond::Same(low, Expr::Count(self.depth(at).unwrap_or(0)))
            }
            4 => {
                let amount = Expr::Const(self.random.below(6) as u32);
                Cond::Odd(Expr::Two(Math::Shr, Box::new(Expr::Lane), Box::new(amount)))
            }
            5 if size > 0 => Cond::Not(boxed(self.cond(at, size - 1))),
            6 if size > 0 => Cond::Both(boxed(self.cond(at, size - 1)), boxed(self.cond(at, size - 1))),
            7 if self.once_in(2) => Cond::Elect,
            8 if size > 0 && self.once_in(3) => Cond::Any(boxed(self.cond(at, size - 1))),
            9 if size > 0 && self.once_in(3) => Cond::All(boxed(self.cond(at, size - 1))),
            _ => Cond::Odd(self.expr(at, size)),
        }
    }

    fn tangled(&mut self, at: Place) -> Tangled {
        match self.random.below(11) {
            0 | 1 => Tangled::Ballot(self.cond(at, 1)),
            2 => Tangled::BallotCount(self.cond(at, 1)),
            3 => Tangled::BallotRank(self.cond(at, 1)),
            4 => Tangled::Vote(self.cond(at, 1)),
            5 => Tangled::AllEqual(self.expr(at, 1)),
            6 => Tangled::Sum(self.expr(at, 1)),
            7 => Tangled::Min(self.expr(at, 1)),
            8 => Tangled::Max(self.expr(at, 1)),
            9 => Tangled::Before(self.expr(at, 1)),
            _ => Tangled::First(self.expr(at, 1)),
        }
    }

    fn index(&mut self, at: Place) -> Index {
        match self.depth(at) {
            Some(d) if !self.once_in(4) => Index::Count(d),
            _ => Index::First(self.expr(at, 1)),
        }
    }

    /// Ways to leave from here; [`Stmt::Continue`] only if this iteration may be followed by another one.
    fn exit(&mut self, at: Place, continues: bool) -> Option<Stmt> {
        if at.next {
            return None;
        }
        let mut ways = Vec::new();
        if at.breaks {
            ways.extend([Stmt::Break, Stmt::Break, Stmt::Break]);
        }
        if at.depth > 0 && (continues || !at.endless) {
            ways.extend([Stmt::Continue, Stmt::Continue, Stmt::Continue]);
        }
        ways.push(Stmt::Return(self.expr(at, 1)));
        if self.fragment {
            ways.push(Stmt::Kill { terminate: self.once_in(2) });
            if at.main {
                ways.push(Stmt::Demote);
            }
        }
        Some(self.random.pick(&ways).clone())
    }

    /// Something that shows who is here.
    fn seen(&mut self, at: Place) -> Stmt {
        match self.random.below(8) {
            0 | 1 => Stmt::Read(self.var(), self.index(at), self.expr(at, 1)),
            2 => Stmt::Fetch(self.var(), self.index(at)),
            _ => Stmt::Tangled(self.var(), self.tangled(at)),
        }
    }

    fn list(&mut self, at: Place) -> Vec<Stmt> {
        let mut out = Vec::new();
        for _ in 0..1 + self.random.below(5) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            out.push(self.stmt(at));
        }
        if out.is_empty() {
            out.push(self.seen(at));
        }
        out
    }

    fn stmt(&mut self, at: Place) -> Stmt {
        let room = at.nesting < 5;
        match self.random.below(20) {
            0 | 1 => Stmt::Set(self.var(), self.expr(at, 2)),
            2 => Stmt::Add(self.expr(at, 1), self.expr(at, 1)),
            3..=6 => self.seen(at),
            7 => {
                // One lane adds for those that are here.
                let many = Stmt::Tangled(1, Tangled::BallotCount(self.cond(at, 0)));
                let one = Stmt::Add(self.expr(at, 1), Expr::Var(1));
                let then = vec![many, Stmt::If { cond: Cond::Elect, then: vec![one], els: vec![], bare: false }];
                Stmt::If { cond: self.cond(at, 1), then, els: vec![], bare: false }
            }
            8 if at.callee < self.functions => {
                let f = at.callee + self.random.below(self.functions - at.callee);
                Stmt::Call(self.var(), f as u8, self.expr(at, 1))
            }
            9..=11 if room => self.selection(at),
            12 if room => self.chain(at),
            13 | 14 if room && !at.next => self.switch(at),
            15..=17 if room && !at.next && at.depth < DEPTH.min(3) => self.repeat(at),
            18 | 19 => self.leave(at).unwrap_or_else(|| self.seen(at)),
            _ => self.seen(at),
        }
    }

    /// A branch that leaves, maybe after something.
    fn leave(&mut self, at: Place) -> Option<Stmt> {
        let inner = Place { nesting: at.nesting + 1, ..at };
        let cond = self.cond(at, 1);
        let exit = self.exit(at, true)?;
        let cond = match (&exit, at.endless) {
            (Stmt::Continue, true) => goes_on(at, cond),
            _ => cond,
        };
        let mut then = Vec::new();
        if !self.once_in(3) {
            then.push(self.seen(inner));
        }
        then.push(exit);
        let mut els = if self.once_in(4) { self.list(inner) } else { vec![] };
        if self.once_in(4)
            && let Some(exit) = self.exit(inner, false)
        {
            els.push(exit);
        }
        Some(Stmt::If { cond, then, els, bare: self.once_in(2) })
    }

    fn selection(&mut self, at: Place) -> Stmt {
        let inner = Place { nesting: at.nesting + 1, ..at };
        let then = self.list(inner);
        let els = if self.once_in(2) { self.list(inner) } else { vec![] };
        Stmt::If { cond: self.cond(at, 1), then, els, bare: false }
    }

    /// Else after else, each of which may leave.
    fn chain(&mut self, at: Place) -> Stmt {
        let inner = Place { nesting: at.nesting + 1, ..at };
        let mut els = vec![self.seen(inner)];
        for n in 0..2 + self.random.below(3) {
            let cond = Cond::Same(self.expr(at, 1), Expr::Const(n as u32));
            let mut then = vec![self.seen(inner)];
            if self.once_in(2)
                && let Some(exit) = self.exit(inner, false)
            {
                then.push(exit);
            }
            els = vec![Stmt::If { cond, then, els, bare: false }];
        }
        els.remove(0)
    }

    fn switch(&mut self, at: Place) -> Stmt {
        let inner = Place { nesting: at.nesting + 1, breaks: true, ..at };
        let count = 1 + self.random.below(4);
        let default = self.random.below(count + 2);
        let mut labels: Vec<u32> = (0..8).collect();
        let cases = (0..count)
            .map(|n| {
                let many = 1 + usize::from(self.once_in(3));
                let own: Vec<u32> =
                    (0..many).map(|_| labels.swap_remove(self.random.below(labels.len().min(5)))).collect();
                let mut body = if self.once_in(8) { Vec::new() } else { self.list(inner) };
                if self.once_in(3)
                    && let Some(exit) = self.exit(inner, false)
                {
                    body.push(exit);
                }
                Case { labels: own, default: n == default, body, falls: self.once_in(3) }
            })
            .collect();
        let on = match self.random.below(3) {
            0 => Expr::Lane,
            _ => self.expr(at, 2),
        };
        Stmt::Switch { on, cases }
    }

    fn repeat(&mut self, at: Place) -> Stmt {
        let endless = self.once_in(2);
        let inner = Place { nesting: at.nesting + 1, depth: at.depth + 1, breaks: true, endless, ..at };
        let mut body = self.list(inner);
        // Often a second half, with another way out.
        if self.once_in(2) {
            body.extend(self.leave(inner));
            body.extend(self.list(inner));
        }
        let kind = if endless {
            let least = self.random.below(LAST as usize) as u32;
            let beyond = Cond::Less(Expr::Const(least), Expr::Data(at.depth as u8));
            let mut then = if self.once_in(2) { vec![self.seen(inner)] } else { vec![] };
            let exit = match self.random.below(4) {
                0 => self.exit(at, false).filter(|exit| !matches!(exit, Stmt::Break | Stmt::Continue)),
                _ => None,
            };
            then.push(exit.unwrap_or(Stmt::Break));
            let bare = self.once_in(2);
            let place = self.random.below(body.len() + 1);
            body.insert(place, Stmt::If { cond: beyond, then, els: vec![], bare });
            LoopKind::Data { from: self.expr(at, 1) }
        } else {
            let limit = match self.random.below(3) {
                0 => Expr::Const(1 + self.random.below(5) as u32),
                1 => Expr::Two(Math::And, Box::new(self.expr(at, 1)), Box::new(Expr::Const(3))),
                _ => self.expr(at, 1),
            };
            if self.once_in(3) { LoopKind::Tail { limit } } else { LoopKind::Head { limit, apart: self.once_in(2) } }
        };
        let next = if self.once_in(3) { self.list(Place { next: true, ..inner }) } else { vec![] };
        Stmt::Loop { kind, body, next }
    }
}

/// A condition that is false where the innermost loop must be left.
fn goes_on(at: Place, cond: Cond) -> Cond {
    let data = Expr::Data((at.depth - 1) as u8);
    Cond::Both(Box::new(Cond::Less(data, Expr::Const(LAST))), Box::new(cond))
}
