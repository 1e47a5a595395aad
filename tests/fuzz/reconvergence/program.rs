//! Programs of structured control flow, as a tree.
//!
//! Values are words, one in each lane. Whatever a subgroup operation or a read gives goes into the lane's digest, which is
//! all that a program leaves, besides sums that atomics make.

use serde::{Deserialize, Serialize};

/// Variables of a function.
pub const VARS: usize = 4;
/// Loops around each other in a function.
pub const DEPTH: usize = 4;
/// Words of the buffers that are read, and of the sums.
pub const WORDS: u32 = 64;
/// Elements of the array of buffers and of the array of textures, and words of each.
pub const ELEMENTS: u32 = 4;
/// Greatest value of a loop's data before it must be left.
pub const LAST: u32 = 128;

/// A program: statement after statement, and the functions that it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    pub main: Vec<Stmt>,
    /// Each calls only later ones.
    pub functions: Vec<Function>,
}

/// A function of one word, which is variable 0 at first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    pub body: Vec<Stmt>,
    /// Its result, if it ends without a return.
    pub result: Expr,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// The lane's index.
    Lane,
    Const(u32),
    Var(u8),
    /// How often the loop at this depth was repeated.
    Count(u8),
    /// What the loop at this depth read for its iteration.
    Data(u8),
    /// A word of the input.
    In(Box<Expr>),
    Two(Math, Box<Expr>, Box<Expr>),
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Math {
    Add,
    Mul,
    And,
    Xor,
    Shr,
}

/// A boolean. Nothing of it is left out where the result is known early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cond {
    Less(Expr, Expr),
    Same(Expr, Expr),
    Odd(Expr),
    Not(Box<Cond>),
    Both(Box<Cond>, Box<Cond>),
    Elect,
    Any(Box<Cond>),
    All(Box<Cond>),
}

/// A subgroup operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Tangled {
    /// Its two words, mixed.
    Ballot(Cond),
    BallotCount(Cond),
    /// Number of lanes before this one for which it is true.
    BallotRank(Cond),
    /// A vote or an election.
    Vote(Cond),
    AllEqual(Expr),
    Sum(Expr),
    Min(Expr),
    Max(Expr),
    /// Sum over the lanes before this one.
    Before(Expr),
    First(Expr),
}

/// An element that is the same for all lanes that are here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Index {
    Count(u8),
    First(Expr),
}

/// How a loop counts and ends. A limit is taken modulo 8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoopKind {
    /// Tests in its head, or in a block of its own after it.
    Head { limit: Expr, apart: bool },
    /// Tests where it goes back.
    Tail { limit: Expr },
    /// Tests nowhere; each iteration begins with data, which at last is greater than [`LAST`].
    Data { from: Expr },
}

/// A case of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub labels: Vec<u32>,
    pub default: bool,
    pub body: Vec<Stmt>,
    /// Goes on with the next case.
    pub falls: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stmt {
    Set(u8, Expr),
    Tangled(u8, Tangled),
    /// Reads a word of a buffer of the array.
    Read(u8, Index, Expr),
    /// Reads a texture of the array.
    Fetch(u8, Index),
    /// Adds to a sum: its number, the addend.
    Add(Expr, Expr),
    /// `bare`: without a merge declaration, where it only leaves.
    If {
        cond: Cond,
        then: Vec<Stmt>,
        els: Vec<Stmt>,
        bare: bool,
    },
    /// `next` runs where it continues.
    Loop {
        kind: LoopKind,
        body: Vec<Stmt>,
        next: Vec<Stmt>,
    },
    /// On a value modulo 8.
    Switch {
        on: Expr,
        cases: Vec<Case>,
    },
    Break,
    Continue,
    Return(Expr),
    /// `OpKill`, or `OpTerminateInvocation`.
    Kill {
        terminate: bool,
    },
    /// The lane's stores have no effect from here on; it returns at once.
    Demote,
    Call(u8, u8, Expr),
}

/// Where a statement stands.
#[derive(Clone, Copy, Default)]
struct Place {
    breaks: bool,
    continues: bool,
    /// In what a loop does where it continues.
    next: bool,
    depth: usize,
    /// The first function that may be called.
    callee: usize,
    main: bool,
}

impl Program {
    /// Whether every statement stands where it may.
    pub fn is_valid(&self, fragment: bool) -> bool {
        let main = Place { main: true, ..Place::default() };
        let functions = self.functions.iter().enumerate();
        self.all(&self.main, main, fragment)
            && self.functions.len() < 8
            && functions
                .map(|(n, f)| (n + 1, f))
                .all(|(callee, f)| self.all(&f.body, Place { callee, ..Place::default() }, fragment))
    }

    fn all(&self, list: &[Stmt], at: Place, fragment: bool) -> bool {
        list.iter().all(|s| self.one(s, at, fragment))
    }

    fn one(&self, stmt: &Stmt, at: Place, fragment: bool) -> bool {
        match stmt {
            Stmt::Set(v, _) | Stmt::Tangled(v, _) | Stmt::Read(v, ..) | Stmt::Fetch(v, _) => usize::from(*v) < VARS,
            Stmt::Add(..) => true,
            Stmt::If { then, els, .. } => self.all(then, at, fragment) && self.all(els, at, fragment),
            Stmt::Loop { body, next, .. } => {
                let inner = Place { breaks: true, continues: true, depth: at.depth + 1, ..at };
                let last = Place { breaks: false, continues: false, next: true, ..inner };
                !at.next && at.depth < DEPTH && self.all(body, inner, fragment) && self.all(next, last, fragment)
            }
            Stmt::Switch { cases, .. } => {
                let inner = Place { breaks: true, ..at };
                let mut labels: Vec<u32> = cases.iter().flat_map(|c| c.labels.iter().copied()).collect();
                let count = labels.len();
                labels.sort_unstable();
                labels.dedup();
                let once = labels.len() == count && cases.iter().filter(|c| c.default).count() <= 1;
                let reached = cases.iter().all(|c| c.default || !c.labels.is_empty());
                !at.next
                    && once
                    && reached
                    && !cases.is_empty()
                    && cases.iter().all(|c| self.all(&c.body, inner, fragment))
            }
            Stmt::Break => at.breaks && !at.next,
            Stmt::Continue => at.continues && !at.next,
            Stmt::Return(_) => !at.next,
            Stmt::Kill { .. } => fragment && !at.next,
            Stmt::Demote => fragment && at.main && !at.next,
            Stmt::Call(v, f, _) => {
                usize::from(*v) < VARS && usize::from(*f) >= at.callee && usize::from(*f) < self.functions.len()
            }
        }
    }
}
