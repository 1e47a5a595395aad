//! Shaders with every extended, image, subgroup, atomic and dot-product instruction, translated to IR.
//!
//! Sources and the script that compiles them are in `testdata/spirv`. Every result must pass the verifier; in addition,
//! each test checks what a wrong translation would lose. To add an instruction: use it in one of the shaders.

use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::ir::{
    AluOp, AtomicOp, Dim, FenceOrder, ImageInst, ImageOp, Interp, InterpPlace, LodMode, Op, ReduceOp, Scope, Shader,
    SubgroupOp, verify::verify,
};
use dovetail::target::Stage;

fn shader(file: &str, stage: Stage) -> Shader {
    let path = format!("{}/testdata/spirv/{file}.spv", env!("CARGO_MANIFEST_DIR"));
    let module = Module::new(std::fs::read(&path).expect("a compiled shader")).expect("a module");
    let shader = translate(&module, "main", stage, &[]).unwrap_or_else(|e| panic!("{file}: {e}"));
    verify(&shader).unwrap_or_else(|e| panic!("{file}: {e}"));
    shader
}

/// Operations of the instructions in blocks.
fn ops(shader: &Shader) -> Vec<&Op> {
    shader.blocks.iter().flat_map(|b| &b.insts).map(|&i| &shader.inst(i).op).collect()
}

fn count(shader: &Shader, is: impl Fn(&Op) -> bool) -> usize {
    ops(shader).into_iter().filter(|op| is(op)).count()
}

fn images(shader: &Shader) -> Vec<ImageInst> {
    ops(shader).into_iter().filter_map(|op| if let Op::Image(i) = op { Some(*i) } else { None }).collect()
}

fn alu(shader: &Shader, which: AluOp) -> usize {
    count(shader, |op| matches!(op, Op::Alu(a, _) if *a == which))
}

#[test]
fn extended_instructions() {
    let s = shader("glsl450.comp", Stage::Compute);
    // Sines and cosines: four each of Sin, Cos and Tan, and four of 16 bits.
    assert_eq!((alu(&s, AluOp::FSin), alu(&s, AluOp::FCos)), (12, 8));
    assert_eq!((alu(&s, AluOp::FFrexpMant), alu(&s, AluOp::FFrexpExp)), (4, 4));
    assert_eq!(alu(&s, AluOp::FLdexp), 8);
    assert_eq!((alu(&s, AluOp::PackNorm16), alu(&s, AluOp::PackSnorm16)), (1, 1));
    assert_eq!((alu(&s, AluOp::FindILsb), alu(&s, AluOp::FindSMsb), alu(&s, AluOp::FindUMsb)), (4, 4, 4));
    assert_eq!(alu(&s, AluOp::FPow), 8);
}

#[test]
fn sampling() {
    let s = shader("sampling.frag", Stage::Fragment);
    let all = images(&s);
    let has = |what: &str, is: &dyn Fn(&ImageInst) -> bool| assert!(all.iter().any(is), "no {what}");
    let sample = |i: &ImageInst| i.op == ImageOp::Sample;
    has("bias", &|i| sample(i) && i.lod == LodMode::Bias);
    has("level zero", &|i| sample(i) && i.lod == LodMode::Zero);
    has("level zero with comparison", &|i| sample(i) && i.lod == LodMode::Zero && i.compare);
    has("level", &|i| sample(i) && i.lod == LodMode::Explicit && i.dim == Dim::Cube);
    for dim in [Dim::D2, Dim::D3, Dim::Cube] {
        has("gradients", &|i| sample(i) && i.lod == LodMode::Gradient && i.dim == dim);
    }
    has("minimum level", &|i| sample(i) && i.min_lod);
    has("non-uniform", &|i| sample(i) && i.access.non_uniform);
    has("cube array comparison", &|i| i.compare && i.arrayed && i.dim == Dim::Cube);
    // textureOffset, textureLodOffset, textureProjOffset; an offset of zeros does not count.
    assert_eq!(all.iter().filter(|i| sample(i) && i.offset).count(), 3);
    // textureGatherOffset, and two times four gathers.
    assert_eq!(all.iter().filter(|i| matches!(i.op, ImageOp::Gather(_)) && i.offset).count(), 9);
    assert!(all.iter().filter(|i| matches!(i.op, ImageOp::Gather(_))).all(|i| i.lod == LodMode::Zero));
    has("gather of component 3", &|i| i.op == ImageOp::Gather(3));
    // Projection divides every coordinate and the comparator.
    assert_eq!(alu(&s, AluOp::FDiv), 1 + 2 + 2 + 3 + 3 + 2 + 2 + 2);
    assert_eq!(all.iter().filter(|i| i.op == ImageOp::QueryLod).count(), 3);
    assert_eq!(all.iter().filter(|i| i.op == ImageOp::Fetch && i.lod == LodMode::Explicit).count(), 5);
    assert!(all.iter().all(|i| i.op != ImageOp::Fetch || !i.offset), "offsets of fetches are added");
}

#[test]
fn storage_images_and_queries() {
    let s = shader("images.comp", Stage::Compute);
    let all = images(&s);
    let of = |op: ImageOp| all.iter().filter(|i| i.op == op).collect::<Vec<_>>();
    assert_eq!((of(ImageOp::Load).len(), of(ImageOp::Store).len(), of(ImageOp::Fetch).len()), (6, 8, 4));
    let coherent = |i: &&&ImageInst| i.access.coherent;
    assert_eq!(of(ImageOp::Load).iter().filter(coherent).count(), 1, "only the 3D image is coherent");
    assert!(of(ImageOp::Store).iter().any(|i| i.access.non_uniform));
    assert!(of(ImageOp::Fetch).iter().any(|i| i.multisampled && i.arrayed));
    for op in [AtomicOp::IAdd, AtomicOp::Exchange, AtomicOp::CompareExchange, AtomicOp::SMin, AtomicOp::SMax] {
        assert!(!of(ImageOp::Atomic(op)).is_empty(), "{op:?}");
    }
    for op in [AtomicOp::UMin, AtomicOp::UMax, AtomicOp::And, AtomicOp::Or, AtomicOp::Xor, AtomicOp::FAdd] {
        assert_eq!(of(ImageOp::Atomic(op)).len(), 1, "{op:?}");
    }
    let atomic_on_buffer = |i: &&ImageInst| matches!(i.op, ImageOp::Atomic(_)) && i.dim == Dim::Buffer;
    assert_eq!(all.iter().filter(atomic_on_buffer).count(), 1);
    assert_eq!((of(ImageOp::QueryLevels).len(), of(ImageOp::QuerySamples).len()), (2, 2));
    let sizes = of(ImageOp::QuerySize);
    assert_eq!(sizes.iter().filter(|i| i.lod == LodMode::Explicit).count(), 2);
}

#[test]
fn subgroups() {
    let s = shader("subgroups.comp", Stage::Compute);
    let lanes = |want: SubgroupOp| count(&s, |op| matches!(op, Op::Subgroup(o) if *o == want));
    assert_eq!((lanes(SubgroupOp::Elect), lanes(SubgroupOp::All), lanes(SubgroupOp::Any)), (1, 2, 2));
    assert_eq!((lanes(SubgroupOp::AllEqual), lanes(SubgroupOp::Ballot)), (4 + 1 + 1 + 1, 2));
    assert_eq!((lanes(SubgroupOp::Broadcast), lanes(SubgroupOp::BroadcastFirst)), (8, 8));
    for op in [SubgroupOp::Shuffle, SubgroupOp::ShuffleXor, SubgroupOp::ShuffleUp, SubgroupOp::ShuffleDown] {
        assert_eq!(lanes(op), 4, "{op:?}");
    }
    assert_eq!(lanes(SubgroupOp::Reduce(ReduceOp::FAdd, 0)), 4);
    assert_eq!(lanes(SubgroupOp::Reduce(ReduceOp::FAdd, 4)), 4);
    assert_eq!(lanes(SubgroupOp::Reduce(ReduceOp::FMax, 16)), 4);
    // Four integers and two conditions.
    assert_eq!(lanes(SubgroupOp::Reduce(ReduceOp::And, 0)), 6);
    assert_eq!(lanes(SubgroupOp::InclusiveScan(ReduceOp::UMax)), 4);
    assert_eq!(lanes(SubgroupOp::ExclusiveScan(ReduceOp::Xor)), 4);
    assert_eq!(lanes(SubgroupOp::QuadBroadcast), 4);
    assert_eq!(alu(&s, AluOp::BitCount), 3);
}

#[test]
fn atomics_and_barriers() {
    let s = shader("atomics.comp", Stage::Compute);
    assert_eq!(count(&s, |op| matches!(op, Op::BufferAtomic { op: AtomicOp::CompareExchange, .. })), 2);
    assert_eq!(count(&s, |op| matches!(op, Op::BufferAtomic { op: AtomicOp::FAdd, .. })), 1);
    assert_eq!(count(&s, |op| matches!(op, Op::SharedAtomic(_))), 6);
    assert_eq!(count(&s, |op| matches!(op, Op::GlobalAtomic { .. })), 2);
    assert_eq!(count(&s, |op| matches!(op, Op::Barrier { .. })), 3);
    let waits = |exec: Scope| count(&s, |op| matches!(op, Op::Barrier { exec: e, .. } if *e == exec));
    assert_eq!((waits(Scope::Workgroup), waits(Scope::Subgroup)), (2, 1));
    assert_eq!(count(&s, |op| matches!(op, Op::ReadClock(_))), 3);
    // The acquire of the load and of the addition, the release of the store and of the addition.
    let fences = |want: FenceOrder| count(&s, |op| matches!(op, Op::Fence { order, .. } if *order == want));
    assert_eq!((fences(FenceOrder::Acquire), fences(FenceOrder::Release)), (2, 2));
    assert_eq!(fences(FenceOrder::AcqRel), 5);
}

#[test]
fn pixels() {
    let s = shader("pixels.frag", Stage::Fragment);
    assert_eq!(count(&s, |op| matches!(op, Op::Derivative(_))), 4 * 12);
    assert_eq!(count(&s, |op| matches!(op, Op::Derivative(k) if k.fine)), 4 * 4);
    let at = |place: InterpPlace, perspective: bool| {
        let wanted = Interp::At { perspective, place };
        count(&s, |op| matches!(op, Op::LoadInput { interp, .. } if *interp == wanted))
    };
    assert_eq!((at(InterpPlace::Centroid, true), at(InterpPlace::Centroid, false)), (5, 2));
    assert_eq!((at(InterpPlace::AtSample, true), at(InterpPlace::AtSample, false)), (4, 2));
    assert_eq!(at(InterpPlace::AtOffset, true), 4 + 2 + 1);
    let attachments: Vec<ImageInst> = images(&s);
    assert_eq!(attachments.len(), 2);
    assert!(attachments.iter().all(|i| i.op == ImageOp::Fetch && i.dim == Dim::D2));
    assert!(attachments[1].multisampled);
    assert_eq!((count(&s, |op| *op == Op::DemoteIf), count(&s, |op| *op == Op::IsHelper)), (1, 1));
}

#[test]
fn dot_products_and_rotations() {
    let s = shader("dot.spvasm", Stage::Compute);
    // As packed words and as byte vectors; 16-bit vectors and mixed signs are expanded to multiplications.
    assert_eq!((alu(&s, AluOp::SDot4), alu(&s, AluOp::UDot4)), (2, 2));
    assert_eq!((alu(&s, AluOp::SDot4Sat), alu(&s, AluOp::UDot4Sat)), (1, 1));
    assert_eq!(alu(&s, AluOp::IMul), 4 + 4 + 2 + 2);
    assert_eq!((alu(&s, AluOp::SAddSat), alu(&s, AluOp::UAddSat)), (1, 1));
    let rotations: Vec<&Op> = ops(&s).into_iter().filter(|op| matches!(op, Op::Subgroup(_))).collect();
    assert_eq!(rotations, [&Op::Subgroup(SubgroupOp::Rotate(0)), &Op::Subgroup(SubgroupOp::Rotate(4))]);
    assert_eq!((alu(&s, AluOp::FMin), alu(&s, AluOp::FMax)), (2, 2));
}

#[test]
fn dot_products_of_halves() {
    let s = shader("mixed_dot.spvasm", Stage::Compute);
    assert_eq!(alu(&s, AluOp::FFma), 2 * 2);
    // Four of them belong to the vectors, one each way to the 16-bit sum.
    assert_eq!(alu(&s, AluOp::FConv), 2 * 4 + 2);
}
