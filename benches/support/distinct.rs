//! Different pairs linked in sequence, so that no link profits from data that the previous one left in the processor's
//! caches; and the cost of state changes, of reading from bytes or from a cache, and of a second thread.

use crate::support::beside::{Beside, Files, MOST, SWEEPS as RADV_SWEEPS, TURN};
use crate::support::radv::Keeps;
use crate::support::times::{Times, head};
use crate::support::{self, Input};
use dovetail::abi::layout::PreparedLayout;
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::TuningOptions;
use dovetail::link::{EmitGlue, Job, Object, Placement, Plans, SharedGlue, Size, link};
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, ShaderRef, build};
use dovetail::state::PipelineState;
use dovetail::target::Gpu;
use dovetail::toolchain::Toolchain;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Passes over all pairs; the first creates plans and does not count.
const SWEEPS: usize = 10;
/// For each vertex shader, list distances of the fragment shaders that it is combined with.
const DISTANCES: [usize; 4] = [0, 7, 31, 71];

/// A compiled stage.
struct Stage {
    input: Input,
    elf: Vec<u8>,
    object: Object,
}

impl Stage {
    fn shader(&self) -> ShaderRef<'_> {
        let Input { module, request, .. } = &self.input;
        ShaderRef::new(module, &request.entry_point, request.stage, request.wave)
            .with_spec_ids(request.specialization.iter().map(|(id, _)| *id))
    }
}

struct Pair {
    vertex: usize,
    fragment: usize,
    state: PipelineState,
    layout: PreparedLayout,
}

impl Pair {
    fn request<'a>(&'a self, shaders: &[ShaderRef<'a>]) -> PipelineRequest<'a> {
        PipelineRequest {
            shaders: [self.vertex, self.fragment].map(|stage| shaders[stage].clone()).into(),
            state: &self.state,
            layout: Some(&self.layout),
            target: Gpu::Gfx1030,
            options: TuningOptions::default(),
            placement: Placement::Adjacent,
        }
    }

    fn linked(&self, objects: [&Object; 2], state: &PipelineState, plans: &Plans, out: &mut [u8]) -> Option<usize> {
        let (layout, placement, plans) = (self.layout.resolved(), Placement::Adjacent, Some(plans));
        let job =
            Job { objects: &objects, state, layout, placement, glue: &EmitGlue, metadata: Default::default(), plans };
        match job.link_into(out).ok()? {
            Size::Written(bytes) | Size::Incomplete(bytes) => Some(bytes),
        }
    }
}

/// Nanoseconds of a call, with what becomes of its result.
fn timed<T>(run: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    drop(run());
    start.elapsed().as_nanos() as u64
}

/// Pairs of compiled stages that can be linked.
pub struct Pairs {
    stages: Vec<Stage>,
    pairs: Vec<Pair>,
    /// Of all links: parts keep what they were linked with by the plans of the link.
    plans: Arc<Plans>,
}

impl Pairs {
    /// Compiles every stage once. Omits pairs that are not supported or cannot be linked.
    pub fn new(inputs: Vec<(Input, Input)>) -> Self {
        let compiler = BuiltInCompiler::new();
        let mut out = Self { stages: Vec::new(), pairs: Vec::new(), plans: Arc::default() };
        let mut known: BTreeMap<_, Option<usize>> = BTreeMap::new();
        let mut stage = |out: &mut Self, input: Input| {
            let key = (input.request.stage, input.request.module, input.request.specialization.clone());
            *known.entry(key).or_insert_with(|| {
                let elf = compiler.compile(&input.module, &input.request).ok()?.0;
                let object = Object::parse(&elf).ok()?;
                out.stages.push(Stage { input, elf, object });
                Some(out.stages.len() - 1)
            })
        };
        for (vertex, fragment) in inputs {
            let (vertex, fragment) = (stage(&mut out, vertex), stage(&mut out, fragment));
            if let Some((vertex, fragment)) = vertex.zip(fragment) {
                out.add(vertex, fragment);
            }
        }
        out
    }

    /// Adds combinations of each vertex shader with fragment shaders of other pairs.
    pub fn combined(mut self) -> Self {
        let own: Vec<(usize, usize)> = self.pairs.iter().map(|pair| (pair.vertex, pair.fragment)).collect();
        for distance in DISTANCES {
            for (n, (vertex, _)) in own.iter().enumerate() {
                self.add(*vertex, own[(n + distance) % own.len()].1);
            }
        }
        self
    }

    fn add(&mut self, vertex: usize, fragment: usize) {
        if self.pairs.iter().any(|pair| (pair.vertex, pair.fragment) == (vertex, fragment)) {
            return;
        }
        let inputs = [&self.stages[vertex].input, &self.stages[fragment].input];
        let Some(state) = support::state(&inputs) else { return };
        let Ok(layout) = PreparedLayout::new(state.layout.clone()) else { return };
        let pair = Pair { vertex, fragment, state, layout };
        if self.linked(&pair, &pair.state, &self.plans, &mut []).is_some() {
            self.pairs.push(pair);
        }
    }

    fn objects(&self, pair: &Pair) -> [&Object; 2] {
        [pair.vertex, pair.fragment].map(|stage| &self.stages[stage].object)
    }

    /// The same parts, shared with no other pair, and linked once.
    fn own_objects(&self, pair: &Pair) -> [Object; 2] {
        let own = self.objects(pair).map(Object::clone);
        pair.linked(own.each_ref(), &pair.state, &self.plans, &mut []).expect("it has been linked before");
        own
    }

    fn linked(&self, pair: &Pair, state: &PipelineState, plans: &Plans, out: &mut [u8]) -> Option<usize> {
        pair.linked(self.objects(pair), state, plans, out)
    }

    /// Times of one call for each pair, over all passes except the first.
    fn each<T>(&self, mut run: impl FnMut(&Pair) -> T) -> Times {
        let mut times = Vec::new();
        for sweep in 0..=SWEEPS {
            for pair in &self.pairs {
                let start = Instant::now();
                let done = black_box(run(pair));
                let took = start.elapsed();
                drop(done);
                if sweep > 0 {
                    times.push(took.as_nanos() as u64);
                }
            }
        }
        Times::taken(times)
    }

    /// Measures everything and prints it.
    pub fn report(self) {
        if self.pairs.is_empty() {
            println!("\nno pairs of corpus/: fetch them with ./dev corpus");
            return;
        }
        let (plans, mut out) = (self.plans.clone(), vec![0; 1 << 20]);
        let sizes = self.pairs.iter().filter_map(|pair| self.linked(pair, &pair.state, &plans, &mut out));
        let bytes = sizes.sum::<usize>() / self.pairs.len();
        head(&format!("{} pairs of {} parts, {bytes} bytes on average", self.pairs.len(), self.stages.len()));
        let prepared = self.each(|pair| self.linked(pair, &pair.state, &plans, &mut out));
        prepared.row("distinct prepared pairs, into the caller's memory");
        self.each(|pair| self.elf(pair, Some(&plans))).row("the same, into memory of their own");
        let elfs: Vec<Vec<u8>> = self.pairs.iter().map(|pair| self.elf(pair, None)).collect();
        let mut next = elfs.iter().cycle();
        let copy = self.each(|_| next.next().map(|elf| out[..elf.len()].copy_from_slice(elf)));
        copy.row("a copy of the same bytes");
        self.other_states(&plans, &mut out).row("the same pair, colours and vertex input in turn");
        self.first_links().row("from bytes, nothing planned");
        self.builds(&plans);
        self.threads(&plans);
        self.beside_radv(&plans, &mut out);
    }

    /// RADV's fast links of the same pairs, and its libraries and links from a pipeline cache, each in turn with ours.
    fn beside_radv(mut self, plans: &Plans, out: &mut [u8]) {
        let mut files = Files::new();
        let stages = |pair: &Pair| [pair.vertex, pair.fragment].map(|stage| &self.stages[stage].input);
        let spread = self.pairs.iter().enumerate().step_by(self.pairs.len().div_ceil(MOST));
        let asked: Vec<_> =
            spread.filter_map(|(n, pair)| Some((n, files.request(stages(pair), &pair.state)?))).collect();
        let Some(mut radv) = Beside::start(Keeps::Nothing, &asked) else { return };
        let kept = radv.kept().to_vec();
        let mut numbers = 0..;
        self.pairs.retain(|_| numbers.next().is_some_and(|n| kept.binary_search_by_key(&n, |(n, _)| *n).is_ok()));
        head(&format!("{} of the pairs in turn with {}", self.pairs.len(), radv.driver()));
        // RADV has libraries of its own for each pair; so have we, and then with parts that pairs share.
        let own: Vec<[Object; 2]> = self.pairs.iter().map(|pair| self.own_objects(pair)).collect();
        for n in 1..=RADV_SWEEPS {
            let theirs = format!("its fast link, sweep {n}");
            let ours =
                |n: usize| _ = black_box(self.pairs[n].linked(own[n].each_ref(), &self.pairs[n].state, plans, out));
            self.in_turn(["ours, prepared, into the caller's memory", &theirs], ours, |pairs| radv.links(pairs));
        }
        drop(own);
        let ours = |n: usize| _ = black_box(self.linked(&self.pairs[n], &self.pairs[n].state, plans, out));
        self.in_turn(["ours, of shared parts", "its fast link, once more"], ours, |pairs| radv.links(pairs));
        drop(radv);
        let Some(mut cached) = Beside::start(Keeps::PipelineCache, &kept) else { return };
        let names = ["ours, from bytes, nothing planned", "its libraries out of a pipeline cache, and their link"];
        self.in_turn(names, |n| _ = black_box(self.first_link(&self.pairs[n])), |pairs| cached.cached_links(pairs));
    }

    /// Rows for two ways, and the ratio of the first to the second: of the percentiles, and the median turn's.
    fn in_turn(
        &self,
        [one_name, other_name]: [&str; 2],
        mut one: impl FnMut(usize),
        mut other: impl FnMut(Range<usize>) -> Vec<u64>,
    ) {
        let (mut all, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        for first in (0..self.pairs.len()).step_by(TURN) {
            let pairs = first..self.pairs.len().min(first + TURN);
            let times = [pairs.clone().map(|pair| timed(|| one(pair))).collect(), other(pairs)];
            let [sum, other_sum] = times.each_ref().map(|times: &Vec<u64>| times.iter().sum::<u64>());
            ratios.push(sum as f64 / other_sum as f64);
            all.iter_mut().zip(times).for_each(|(all, times)| all.extend(times));
        }
        let [one, other] = all.map(Times::taken);
        one.row(one_name);
        let [p50, p95] = [50, 95].map(|p| one.percentile(p) as f64 / other.percentile(p) as f64);
        ratios.sort_by(f64::total_cmp);
        let middle = ratios[ratios.len() / 2];
        other.row(&format!("{other_name}; the row above to it {p50:.2}, {p95:.2}, by turns {middle:.2}"));
    }

    fn elf(&self, pair: &Pair, plans: Option<&Plans>) -> Vec<u8> {
        let objects = self.objects(pair);
        let (state, layout, placement) = (&pair.state, pair.layout.resolved(), Placement::Adjacent);
        let job =
            Job { objects: &objects, state, layout, placement, glue: &EmitGlue, metadata: Default::default(), plans };
        job.link().expect("it has been linked before").elf
    }

    /// Alternates three states for one pair at a time.
    fn other_states(&self, plans: &Plans, out: &mut [u8]) -> Times {
        let mut times = Vec::new();
        for pair in self.pairs.iter().step_by(self.pairs.len().div_ceil(20)) {
            let [mut colors, mut vertex] = [pair.state.clone(), pair.state.clone()];
            colors.color.attachments.iter_mut().for_each(|a| a.blend = !a.blend);
            vertex.vertex.bindings.iter_mut().for_each(|b| b.stride *= 2);
            for n in 0..3000 {
                let state = [&pair.state, &colors, &vertex][n % 3];
                let start = Instant::now();
                let linked = black_box(self.linked(pair, state, plans, out));
                let took = start.elapsed();
                assert!(linked.is_some(), "a state that cannot be linked");
                // The first links create plans.
                if n >= 300 {
                    times.push(took.as_nanos() as u64);
                }
            }
        }
        Times::taken(times)
    }

    /// Parsing both parts, their digests and the link, as for the first time.
    fn first_links(&self) -> Times {
        self.each(|pair| self.first_link(pair))
    }

    fn first_link(&self, pair: &Pair) -> Vec<u8> {
        let parts = [pair.vertex, pair.fragment].map(|stage| &self.stages[stage].elf[..]);
        link(&parts, &pair.state, Placement::Adjacent, &SharedGlue).expect("it has been linked before")
    }

    /// `pipeline::build` with everything in memory, and with a cache on disk and nothing in memory.
    fn builds(&self, plans: &Plans) {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache");
        let compiler = BuiltInCompiler::new();
        let filling = Toolchain::new(&cache, Some(&compiler)).expect("tools");
        filling.record_compiler().expect("a manifest");
        // Kept beside its module, as a driver keeps it, so that all pipelines share its keys.
        let shaders: Vec<ShaderRef<'_>> = self.stages.iter().map(Stage::shader).collect();
        let requests: Vec<PipelineRequest<'_>> = self.pairs.iter().map(|pair| pair.request(&shaders)).collect();
        let built = |request, tools: &Toolchain<'_>| match build(request, tools).expect("it has been linked before") {
            PipelineOutcome::Built(built) => built.elf,
            PipelineOutcome::NotCached(stage) => panic!("no {stage} part"),
        };
        requests.iter().for_each(|request| drop(built(request, &filling)));
        // Twice, because the first pass finds the parts and what they are linked with.
        let names = ["pipeline::build, everything in memory", "the link of the same pairs into memory of its own"];
        let link = |n: usize| black_box(self.elf(&self.pairs[n], Some(plans))).len();
        for _ in 0..2 {
            self.in_turn(
                names,
                |n| _ = black_box(built(&requests[n], &filling)),
                |pairs| pairs.map(|n| timed(|| link(n))).collect(),
            );
        }
        let mut next = requests.iter().cycle();
        let mut request = || next.next().expect("a cycle");
        let unprepared: Vec<_> = requests.iter().map(|r| PipelineRequest { layout: None, ..r.clone() }).collect();
        let mut states = unprepared.iter().cycle();
        let found = self.each(|_| built(states.next().expect("a cycle"), &filling));
        found.row("the same, layouts found by their contents");
        let on_disk = self.each(|_| {
            let tools = Toolchain::new(&cache, None).expect("tools");
            built(request(), &tools)
        });
        on_disk.row("pipeline::build on a cache on disk, with a new Toolchain each time");
    }

    fn threads(&self, plans: &Plans) {
        let rate = |threads: usize| {
            let start = Instant::now();
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        let mut out = vec![0; 1 << 20];
                        for pair in (0..20 * SWEEPS).flat_map(|_| &self.pairs) {
                            black_box(self.linked(pair, &pair.state, plans, &mut out));
                        }
                    });
                }
            });
            (threads * 20 * SWEEPS * self.pairs.len()) as f64 / start.elapsed().as_secs_f64()
        };
        let [one, two] = [1, 2].map(|threads| (0..5).map(|_| rate(threads)).fold(0.0, f64::max));
        println!("\nlinks a second, the best of five: {one:.0} on one thread, {two:.0} on two, {:.2} times", two / one);
    }
}
