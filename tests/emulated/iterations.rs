//! What belongs to an iteration of a loop: waterfalls that count the lanes which they serve, and blocks that leave a loop.
//! Cases from the specifications of SPIR-V and SPV_KHR_maximal_reconvergence; what each gives is worked out lane by lane.

use crate::chosen::ChosenCompiler;
use crate::everywhere::{run, storage};
use crate::support::{glsl, without};
use dovetail::compile::request::{GeneratorKind, Module};
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};

/// What LLVM's code would get wrong.
const REFUSED_BY_LLVM: &str = "in a block that leaves a loop";
/// Invocations of the workgroup.
const LANES: u32 = 64;

const HEAD: &str = "#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint o[64]; };
layout(set = 0, binding = 1) buffer Keys { uint keys[64]; };
layout(set = 0, binding = 2) buffer Sums { uint sums[8]; };
layout(set = 0, binding = 3) buffer Element { uint w[4]; } e[8];
uint i = gl_LocalInvocationID.x;
uint here() { return subgroupBallotBitCount(subgroupBallot(true)); }
";

/// Word `index` of the keys: eight different ones in every subgroup.
const fn key(lane: u32) -> u32 {
    (lane * 5 + lane / 8) % 8
}

/// A lane among those of its subgroup.
#[derive(Clone, Copy)]
struct Lane {
    index: u32,
    /// Lanes of a subgroup.
    size: u32,
}

impl Lane {
    fn key(self) -> u32 {
        key(self.index)
    }

    /// The lanes of its subgroup for which something holds.
    fn those(self, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let first = self.index / self.size * self.size;
        (first..(first + self.size).min(LANES)).filter(move |lane| wanted(*lane))
    }

    fn count(self, wanted: impl Fn(u32) -> bool) -> u32 {
        self.those(wanted).count() as u32
    }

    /// The lanes with its key, which leave in the same iteration.
    fn same(self) -> impl Iterator<Item = u32> {
        self.those(move |lane| key(lane) == self.key())
    }

    fn like_me(self) -> u32 {
        self.same().count() as u32
    }

    /// The lanes that no iteration before its own has let go, if iteration k lets key k go.
    fn left(self) -> u32 {
        self.count(|lane| key(lane) >= self.key())
    }
}

/// Each lane's word, and the sums.
type Wanted = (fn(Lane) -> u32, fn(u32, u32) -> u32);

fn no_sum(_: u32, _: u32) -> u32 {
    0
}

/// Lanes with a key.
fn lanes_with(number: u32, _: u32) -> u32 {
    (0..LANES).filter(|lane| key(*lane) == number).count() as u32
}

/// Subgroups; each has every key.
fn subgroups(_: u32, size: u32) -> u32 {
    LANES / size
}

struct IterationCase {
    name: String,
    /// What follows [`HEAD`].
    code: String,
    wanted: Wanted,
}

/// Waterfalls: each way to choose whom an iteration serves, in each form of loop. A lane's word is the number of lanes that
/// were served with it, and a thousand for each iteration before; a sum is the number of lanes that have the key.
fn waterfalls() -> Vec<IterationCase> {
    type Leader = (&'static str, &'static str, fn(Lane) -> u32);
    let leaders: [Leader; 5] = [
        ("the first lane's", "subgroupBroadcastFirst(k)", |l| l.like_me() + 1000 * first_lanes_round(l)),
        ("the least", "subgroupMin(k)", |l| l.like_me() + 1000 * l.key()),
        ("the greatest", "subgroupMax(k)", |l| l.like_me() + 1000 * (7 - l.key())),
        ("a shuffled lane's", "subgroupShuffle(k, subgroupBallotFindMSB(subgroupBallot(true)))", |l| {
            l.like_me() + 1000 * last_lanes_round(l)
        }),
        ("the least by its bits", "chosen(k)", |l| l.like_me() + 1000 * l.key()),
    ];
    const CHOSEN: &str = "uint chosen(uint k) {
        uint r = 0u; bool in_race = true;
        for (int bit = 2; bit >= 0; bit--) {
            bool zero = (k >> bit & 1u) == 0u;
            bool any = subgroupAny(in_race && zero);
            if (any) { in_race = in_race && zero; } else { r |= 1u << bit; }
        }
        return r;
    }\n";
    const SERVE: &str = "c = here(); if (subgroupElect()) atomicAdd(sums[k], c);";
    let loops = [
        ("break", "for (;;) { if (k == F) { S break; } n++; }"),
        ("a flag", "bool done = false; while (!done) { if (k == F) { S done = true; } else n++; }"),
        ("continue", "for (;;) { if (k != F) { n++; continue; } S break; }"),
        ("do while", "bool mine; do { mine = k == F; if (mine) { S } else { n++; } } while (!mine);"),
        (
            "a switch",
            "for (bool on = true; on;) { switch (k == F ? 1 : 0) { case 1: S on = false; break; default: n++; } }",
        ),
        ("return", ""),
    ];
    let mut out = Vec::new();
    for (leader, choice, wanted) in leaders {
        for (form, text) in &loops {
            let text = text.replace('S', SERVE).replace('F', choice);
            let code = if text.is_empty() {
                format!(
                    "{CHOSEN}uint n = 0u; uint c = 0u;
                    void serve(uint k) {{ for (;;) {{ if (k == {choice}) {{ {SERVE} return; }} n++; }} }}
                    void main() {{ serve(keys[i]); o[i] = c + 1000u * n; }}"
                )
            } else {
                format!("{CHOSEN}void main() {{ uint k = keys[i], n = 0u, c = 0u; {text} o[i] = c + 1000u * n; }}")
            };
            out.push(IterationCase {
                name: format!("waterfall: {leader} key, {form}"),
                code,
                wanted: (wanted, lanes_with),
            });
        }
    }
    out
}

/// The place of a lane's key among the keys of its subgroup, by their first lanes.
fn first_lanes_round(lane: Lane) -> u32 {
    place(lane.those(|_| true), lane.key())
}

/// The same by their last lanes.
fn last_lanes_round(lane: Lane) -> u32 {
    let mut lanes: Vec<u32> = lane.those(|_| true).collect();
    lanes.reverse();
    place(lanes.into_iter(), lane.key())
}

fn place(lanes: impl Iterator<Item = u32>, wanted: u32) -> u32 {
    let mut seen: Vec<u32> = Vec::new();
    for other in lanes.map(key) {
        if !seen.contains(&other) {
            seen.push(other);
        }
    }
    seen.iter().position(|other| *other == wanted).unwrap_or(0) as u32
}

/// Blocks that leave loops. In most, iteration k lets the lanes with key k go.
fn exits() -> Vec<IterationCase> {
    let case = |name: &str, code: &str, wanted: Wanted| IterationCase {
        name: format!("exit: {name}"),
        code: code.to_owned(),
        wanted,
    };
    let main = |body: &str| format!("void main() {{ uint k = keys[i], r = 0u; {body} o[i] = r; }}");
    let loops = |body: &str| main(&format!("for (uint n = 0u; n < 8u; n++) {{ {body} }}"));
    let like_me: Wanted = (Lane::like_me, no_sum);
    vec![
        case("an element by the counter", &loops("if (n == k) { r = e[n].w[1]; break; }"), (|l| 101 * l.key(), no_sum)),
        case("and what leaves counts", &loops("if (n == k) { r = e[n].w[0] * 100u + here(); break; }"), (|l| 10_000 * l.key() + l.like_me(), no_sum)),
        case("a return of a function", "uint f(uint k) { for (uint n = 0u; n < 8u; n++) if (n == k) return here(); return 99u; }
            void main() { o[i] = f(keys[i]); }", like_me),
        case("all are together after the call", "uint f(uint k) { for (uint n = 0u; n < 8u; n++) if (n == k) return here(); return 99u; }
            void main() { uint r = f(keys[i]); o[i] = r + 100u * here(); }", (|l| l.like_me() + 100 * l.size, no_sum)),
        case("all are together after the loop", &main("for (uint n = 0u; n < 8u; n++) { if (n == k) { r = here(); break; } } r += 100u * here();"), (|l| l.like_me() + 100 * l.size, no_sum)),
        case("the other side", &loops("if (n != k) { r++; } else { r = r * 100u + here(); break; }"), (|l| 100 * l.key() + l.like_me(), no_sum)),
        case("those that stay count too", &loops("if (n == k) break; r = here();"), (|l| if l.key() == 0 { 0 } else { l.count(|o| key(o) >= l.key()) }, no_sum)),
        case("two ways out", &main("for (uint n = 0u;; n++) { if (n == k && (i & 1u) == 0u) { r = here(); break; } if (n == k) { r = 100u + here(); break; } }"), (|l| if l.index % 2 == 0 { l.same().filter(|o| o % 2 == 0).count() as u32 } else { 100 + l.same().filter(|o| o % 2 == 1).count() as u32 }, no_sum)),
        case("a way out in a way out", &loops("if (n == k) { if (i < 40u) { r = here(); break; } r = 100u + here(); break; }"), (|l| if l.index < 40 { l.same().filter(|o| *o < 40).count() as u32 } else { 100 + l.same().filter(|o| *o >= 40).count() as u32 }, no_sum)),
        case("a branch meets before the way out", &loops("if (n == k) { if ((i & 2u) != 0u) r += here(); r += 100u * here(); break; }"), (|l| { let two = |o: u32| o & 2 != 0; 100 * l.like_me() + if two(l.index) { l.same().filter(|o| two(*o)).count() as u32 } else { 0 } }, no_sum)),
        case("a loop in the way out", &loops("if (n == k) { for (uint m = 0u; m < 3u; m++) r += here(); break; }"), (|l| 3 * l.like_me(), no_sum)),
        case("a loop that lanes leave in the way out", &loops("if (n == k) { for (uint m = 0u;; m++) { if (m == (i & 3u)) { r = here(); break; } } r += 100u * here(); break; }"), (|l| l.same().filter(|o| o & 3 == l.index & 3).count() as u32 + 100 * l.like_me(), no_sum)),
        case("a switch in the way out", &loops("if (n == k) { switch (i & 3u) { case 0u: r = here(); break; case 1u: r = 50u + here(); break; default: r = 80u; } r += 100u * here(); break; }"), (|l| { let alike = l.same().filter(|o| o & 3 == l.index & 3).count() as u32; 100 * l.like_me() + match l.index & 3 { 0 => alike, 1 => 50 + alike, _ => 80 } }, no_sum)),
        case("a return of the shader", "void main() { uint k = keys[i]; for (uint n = 0u;; n++) { if (n == k) { o[i] = here(); return; } } }", like_me),
        case("a return from loops in each other", "void main() { uint k = keys[i]; for (uint a = 0u; a < 4u; a++) for (uint b = 0u; b < 2u; b++) if (2u * a + b == k) { o[i] = here() + 100u * e[2u * a + b].w[0]; return; } }", (|l| l.like_me() + 10_000 * l.key(), no_sum)),
        case("the inner loop ends before the outer goes on", &main("for (uint a = 0u; a < 4u; a++) { for (uint b = 0u; b < 2u; b++) { if (2u * a + b == k) { r += here(); break; } } if (2u * a + 1u >= k) { r += 100u * here(); break; } }"), (|l| l.like_me() + 100 * l.count(|o| key(o) / 2 == l.key() / 2), no_sum)),
        case("out of two loops by a flag", &main("bool out_ = false; for (uint a = 0u; a < 4u && !out_; a++) for (uint b = 0u; b < 2u; b++) { if (2u * a + b == k) { r = here(); out_ = true; break; } }"), like_me),
        case("where it continues", "uint r = 0u; uint step(uint n) { r = r * 10u + (here() > 0u ? 1u : 0u); return n + 1u; }
            void main() { uint k = keys[i]; for (uint n = 0u; n < 8u; n = step(n)) { if (n == k) { r = here(); break; } if (n + 1u < k) continue; } o[i] = r; }", like_me),
        case("one lane for each iteration", &loops("if (n == k) { if (subgroupElect()) atomicAdd(sums[k], 1u); r = 1u; break; }"), (|_| 1, subgroups)),
        case("a sum", &loops("if (n == k) { r = subgroupAdd(i); break; }"), (|l| l.same().sum(), no_sum)),
        case("a sum of those before", &loops("if (n == k) { r = subgroupExclusiveAdd(i + 1u); break; }"), (|l| l.same().filter(|o| *o < l.index).map(|o| o + 1).sum(), no_sum)),
        case("the first lane", &loops("if (n == k) { r = subgroupBroadcastFirst(i); break; }"), (|l| l.same().next().unwrap_or(0), no_sum)),
        case("votes", &loops("if (n == k) { r = uint(subgroupAny(i == 9u)) + 2u * uint(subgroupAll(k == n)) + 4u * uint(subgroupAllEqual(n)); break; }"), (|l| u32::from(l.same().any(|o| o == 9)) + 6, no_sum)),
        case("a rank", &loops("if (n == k) { r = subgroupBallotExclusiveBitCount(subgroupBallot((i & 1u) == 0u)); break; }"), (|l| l.same().filter(|o| *o < l.index && o % 2 == 0).count() as u32, no_sum)),
        case("a case that falls into one that returns", "uint f(uint k) { for (uint n = 0u; n < 8u; n++) { uint r = 0u; switch (n == k ? (i & 1u) : 2u) { case 0u: r = 1u; case 1u: return r + 10u * uint(subgroupAllEqual(n)); default: break; } } return 99u; }
            void main() { o[i] = f(keys[i]); }", (|l| 10 + (1 - l.index % 2), no_sum)),
        case("tested where it goes back", &main("uint n = 0u; do { if (n == k) { r = here(); } n++; } while (n <= k); r += 100u * here();"), (|l| l.like_me() + 100 * l.size, no_sum)),
        case("lanes that have left do not count", &main("for (uint n = 0u; n < 8u; n++) { uint c = here(); if (n == k) { r = c * 100u + here(); break; } }"), (|l| 100 * l.left() + l.like_me(), no_sum)),
        case("both sides leave", &main("for (uint n = 0u;; n++) { if (n < k) continue; if ((i & 4u) == 0u) { r = here(); break; } else { r = 100u + here(); break; } }"), (|l| { let low = l.index & 4 == 0; l.same().filter(|o| (o & 4 == 0) == low).count() as u32 + if low { 0 } else { 100 } }, no_sum)),
        case("an element behind a ballot", &loops("uvec4 who = subgroupBallot(n == k); if (n == k) { r = e[n].w[subgroupBallotBitCount(who) & 3u]; break; }"), (|l| 100 * l.key() + l.key() * (l.like_me() & 3), no_sum)),
        case("a store by the counter", &loops("if (n == k) { uint c = here(); if (subgroupElect()) atomicAdd(e[n].w[3], c * 0u + 1u); sums[n & 7u] = 5u; r = c; break; }"), (Lane::like_me, |_, _| 5)),
    ]
}

/// Word j of element n is 100 n + n j.
fn inputs() -> Inputs {
    let bytes = |words: Vec<u32>| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut bindings = vec![
        storage(0, vec![0; 4 * LANES as usize]),
        storage(1, bytes((0..LANES).map(key).collect())),
        storage(2, vec![0; 32]),
    ];
    bindings.extend((0..8).map(|element| {
        let words = bytes((0..4).map(|word| 100 * element + element * word).collect());
        BindingElement { set: 0, binding: 3, element, bound: Bound::StorageBuffer(InputBytes(words)) }
    }));
    Inputs { grid: [1; 3], bindings, ..Inputs::default() }
}

#[track_caller]
fn hold(test: &str, cases: Vec<IterationCase>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (inputs, mut broken, mut refused) = (inputs(), Vec::new(), 0);
    let refuses = ChosenCompiler::new().generator() == GeneratorKind::Llvm;
    for IterationCase { name, code, wanted: (word, sum) } in &cases {
        let file = folder.path().join("case.comp");
        std::fs::write(&file, format!("{HEAD}{code}\n")).expect("a file");
        let Some(spirv) = glsl(test, &file, "vulkan1.3") else { return without(test, "no compiler of GLSL") };
        let module = Module::new(spirv).expect("a module");
        let all = match run(&module, &inputs) {
            Ok(all) => all,
            Err(error) if refuses && error.contains(REFUSED_BY_LLVM) => {
                refused += 1;
                continue;
            }
            Err(error) => {
                broken.push(format!("{name}: {error}"));
                continue;
            }
        };
        for left in all {
            let words = |n: usize| left.bindings[n].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
            let size = left.lanes;
            let wanted: Vec<u32> = (0..LANES).map(|index| word(Lane { index, size })).collect();
            let sums: Vec<u32> = (0..8).map(|number| sum(number, size)).collect();
            for (what, made, wanted) in
                [("lane", words(0).collect::<Vec<_>>(), wanted), ("sum", words(2).collect(), sums)]
            {
                if let Some(at) = (0..wanted.len()).find(|at| made[*at] != wanted[*at]) {
                    let way = format!("{}, {size} lanes", left.way);
                    broken.push(format!("{name}: {way}: {what} {at} is {}, not {}", made[at], wanted[at]));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(refused < cases.len(), "nothing was compiled");
    assert_eq!(refused > 0, refuses);
}

#[test]
fn waterfalls_count_whom_they_serve() {
    hold("waterfalls_count_whom_they_serve", waterfalls());
}

#[test]
fn what_leaves_a_loop_belongs_to_its_iteration() {
    hold("what_leaves_a_loop_belongs_to_its_iteration", exits());
}
