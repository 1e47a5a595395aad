//! Loops over descriptors that differ between lanes: hardware takes a descriptor from scalar registers only.
//!
//! ```text
//! header: first = root of the first lane      body: result = access by descriptor(first)
//!         same = root == first                      jump join(result)
//!         branch same, body, other            other: jump join(undef)
//!                                             join: branch same, after, latch
//!                                             latch: jump header
//! ```
//!
//! Each round does the access for all lanes whose descriptor is that of the first lane, and these leave. The access is within
//! the loop, where `first` is the same for all lanes; after it lanes of all rounds are together. What is compared is
//! not the descriptor of up to twelve dwords but what it is made of, mostly one index: then the descriptor is
//! loaded in the body, through the scalar cache. The graph stays as `shape` has made it.

use crate::compile::passes::dce;
use crate::error::Result;
use crate::ir::rewrite::{Rewrite, rewrite};
use crate::ir::uniform::Uniformity;
use crate::ir::{AluOp, AmdOp, Bits, BlockId, Builder, Inst, MimgInst, Op, Shader, Type, Value};
use crate::target::WaveSize;
use smallvec::SmallVec;

/// Limits for the operations that a descriptor is made of: in a row, and in all.
const MOST_DEPTH: u32 = 16;
const MOST_STEPS: u32 = 64;

/// Puts loops around accesses by descriptors that differ between lanes, in a shader that `shape` has prepared.
///
/// # Errors
/// Bugs only.
pub fn run(shader: &mut Shader) -> Result<()> {
    let uniformity = Uniformity::of(shader);
    let cfg = shader.cfg();
    let mut wanted: Vec<Option<BlockId>> = Vec::with_capacity(shader.insts.len());
    for id in shader.block_ids() {
        let divergent = |inst: &Inst| {
            inst.args[..descriptors(&inst.op)].iter().any(|v| !uniformity.is_uniform_in(*v, id)) && cfg.reachable(id)
        };
        wanted.extend(shader.block(id).insts.iter().map(|i| divergent(shader.inst(*i)).then_some(id)));
    }
    if wanted.iter().all(Option::is_none) {
        return Ok(());
    }
    let known = shader.values.len();
    let mut wanted = wanted.into_iter();
    rewrite(shader, |b, inst| match wanted.next().flatten() {
        Some(block) => Ok(Roots { uniformity: &uniformity, known, block, steps: 0 }.around(b, inst)),
        None => Ok(Rewrite::Keep),
    })?;
    // Descriptors that are loaded in the loops now.
    dce::run(shader, WaveSize::W32)
}

/// Number of leading operands that are descriptors.
const fn descriptors(op: &Op) -> usize {
    match op {
        Op::BufferLoad { .. }
        | Op::BufferStore { .. }
        | Op::BufferAtomic { .. }
        | Op::TexelLoad { .. }
        | Op::TexelStore { .. }
        | Op::TexelAtomic { .. }
        | Op::TypedLoad { .. } => 1,
        Op::Mimg(mimg) => 1 + MimgInst::samples(mimg) as usize,
        _ => 0,
    }
}

/// Values that decide a descriptor.
struct Roots<'a> {
    uniformity: &'a Uniformity,
    /// Values that the analysis knows; later ones count as different between lanes.
    known: usize,
    /// Where the access was when it was analysed.
    block: BlockId,
    steps: u32,
}

/// The origin of a value.
enum Made {
    /// It is the same for all lanes.
    Uniform,
    /// Itself is compared.
    Root,
    /// It is computed from these.
    Of(Vec<Self>),
}

impl Roots<'_> {
    fn around(mut self, b: &mut Builder<'_>, inst: &Inst) -> Rewrite {
        let count = descriptors(&inst.op);
        let made: Vec<Made> = inst.args[..count].iter().map(|v| self.made(b, *v, MOST_DEPTH).1).collect();
        let mut roots = Vec::new();
        made.iter().zip(&inst.args).for_each(|(made, v)| gather(b.shader, made, *v, &mut roots));

        let [header, body, other, join, latch, after] = [(); 6].map(|()| b.new_block());
        b.jump(header, &[]);
        b.switch_to(header);
        let mut same = None;
        let mut first = Vec::with_capacity(roots.len());
        for root in roots {
            let of_first = b.value(Op::Amd(AmdOp::ReadFirstLane), &[root], b.ty(root));
            first.push((root, of_first));
            for (own, other) in words(b, root).into_iter().zip(words(b, of_first)) {
                let equal = b.alu(AluOp::IEq, &[own, other]);
                same = Some(same.map_or(equal, |same| b.alu(AluOp::IAnd, &[same, equal])));
            }
        }
        let same = same.unwrap_or_else(|| b.cbool(true));
        let ty = inst.result.map(|v| b.ty(v));
        let nothing = ty.map(|ty| b.undef(ty));
        b.branch(same, body, other);
        b.switch_to(other);
        b.jump(join, nothing.as_slice());

        b.switch_to(body);
        let mut args = inst.args.clone();
        for (made, arg) in made.iter().zip(&mut args) {
            *arg = again(b, made, *arg, &first);
        }
        let id = b.push(inst.op.clone(), args, ty);
        let result = b.shader.inst(id).result;
        b.jump(join, result.as_slice());

        b.switch_to(join);
        let result = ty.map(|ty| b.shader.add_param(join, ty));
        b.branch(same, after, latch);
        b.switch_to(latch);
        b.jump(header, &[]);
        b.switch_to(after);
        result.map_or(Rewrite::Remove, Rewrite::Value)
    }

    /// The cheapest way to a value, and how many dwords are compared for it; `None`: it cannot be compared.
    fn made(&mut self, b: &Builder<'_>, v: Value, depth: u32) -> (Option<u32>, Made) {
        if v.index() < self.known && self.uniformity.is_uniform_in(v, self.block) {
            return (Some(0), Made::Uniform);
        }
        let ty = b.ty(v);
        let own = (ty.bits() == Bits::B32 || ty == Type::B64).then(|| ty.total_bits() / 32);
        self.steps += 1;
        let inst = b.shader.def(v).filter(|inst| depth > 0 && self.steps < MOST_STEPS && is_repeatable(&inst.op));
        let Some(inst) = inst else { return (own, Made::Root) };
        let args: SmallVec<[Value; 4]> = inst.args.clone();
        let (costs, made): (SmallVec<[Option<u32>; 4]>, Vec<Made>) =
            args.iter().map(|v| self.made(b, *v, depth - 1)).unzip();
        match (costs.into_iter().sum::<Option<u32>>(), own) {
            (Some(deep), Some(own)) if deep > own => (Some(own), Made::Root),
            (None, own) => (own, Made::Root),
            (deep, _) => (deep, Made::Of(made)),
        }
    }
}

/// Whether an operation can be repeated in the loop: it depends on its operands only.
const fn is_repeatable(op: &Op) -> bool {
    matches!(op, Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast | Op::TableLoad { .. } | Op::ConstLoad { .. })
}

/// The roots of a value, each once.
fn gather(shader: &Shader, made: &Made, v: Value, out: &mut Vec<Value>) {
    match made {
        Made::Uniform => {}
        Made::Root if out.contains(&v) => {}
        Made::Root => out.push(v),
        Made::Of(parts) => {
            let args = shader.def(v).map(|inst| inst.args.as_slice()).unwrap_or_default();
            parts.iter().zip(args).for_each(|(made, v)| gather(shader, made, *v, out));
        }
    }
}

/// The value for lanes whose roots are those of the first lane.
fn again(b: &mut Builder<'_>, made: &Made, v: Value, first: &[(Value, Value)]) -> Value {
    match made {
        Made::Uniform => v,
        Made::Root => first.iter().find(|(root, _)| *root == v).map_or(v, |(_, first)| *first),
        Made::Of(parts) => {
            let Some(inst) = b.shader.def(v).cloned() else { return v };
            let args: SmallVec<[Value; 4]> =
                parts.iter().zip(&inst.args).map(|(made, v)| again(b, made, *v, first)).collect();
            b.value(inst.op, &args, b.ty(v))
        }
    }
}

/// Dwords of a value.
fn words(b: &mut Builder<'_>, v: Value) -> SmallVec<[Value; 4]> {
    let pair = Type::vector(Bits::B32, 2).filter(|_| b.ty(v) == Type::B64);
    let v = pair.map_or(v, |pair| b.bitcast(v, pair));
    b.split(v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;

    /// A store to the buffer of a table that `index` chooses.
    fn made(index: &str) -> String {
        let text = format!(
            "shader lower compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\nlower wave32 \"m\"\n\
             arg sgpr b64 system \"s\"\narg vgpr b32 system \"v\"\nblock0(v0: b64, v1: b32):\n \
             v2: b32 = const 16\n v3: b32 = imul {index}, v2\n v4: b32x4 = table_load[align4] v0, v3\n \
             buffer_store[align4] v4, v1, v1\n return"
        );
        let mut shader = parse(&text).expect("test text");
        run(&mut shader).expect("no error");
        verify(&shader).expect("a shader");
        shader.to_string()
    }

    #[test]
    fn the_index_is_compared_and_the_descriptor_loaded_in_the_loop() {
        let text = made("v1");
        assert_eq!(text.matches("readfirstlane").count(), 1, "{text}");
        assert_eq!(text.matches("table_load").count(), 1, "{text}");
        let body = text.split("\nblock").find(|block| block.contains("buffer_store")).expect("the access");
        assert!(body.contains("table_load"), "{text}");
    }

    #[test]
    fn what_all_lanes_have_needs_no_loop() {
        let text = made("v2");
        assert!(!text.contains("readfirstlane") && !text.contains("block1"), "{text}");
    }
}
