//! Decides from the IR whether inputs can change what a shader writes.
//!
//! If they cannot, two seeds give equal results whatever the inputs, so all that can be proved is that every route
//! gives this result. The analysis is conservative: every loaded value counts as an input, whether it matters or not,
//! and so does every branch condition.

use super::reads::{decisions, sources};
use dovetail_ir::{BuiltIn, ImageOp, Inst, Op, OutputSlot, Shader};

/// Why inputs cannot change a shader's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    /// The reason in words.
    pub why: &'static str,
    /// In a draw: whether the positions do not change either.
    pub still: bool,
}

/// Why inputs cannot change what a compute shader writes; `None`: they may.
pub(super) fn constant(ir: &Shader) -> Option<&'static str> {
    because(ir, &|_| false, false)
}

/// Why inputs cannot change what a fragment shader writes to covered pixels, given its vertex shader.
pub(super) fn constant_fragments(vertex: &Shader, fragment: &Shader) -> Option<Constant> {
    let position = |op: &Op| matches!(op, Op::StoreOutput { slot: OutputSlot::Position(_), .. });
    let still = made_of_nothing(vertex, &position);
    let varying = |at: u32| {
        made_of_nothing(
            vertex,
            &|op| matches!(op, Op::StoreOutput { slot: OutputSlot::Location { location, .. }, .. } if *location == at),
        )
    };
    let varying = |inst: &Inst| matches!(inst.op, Op::LoadInput { location, .. } if varying(location));
    because(fragment, &varying, still).map(|why| Constant { why, still })
}

/// Whether no input reaches the operands of some stores of a vertex shader.
fn made_of_nothing(vertex: &Shader, root: &dyn Fn(&Op) -> bool) -> bool {
    let stores = vertex.live_insts().filter(|inst| root(&inst.op)).flat_map(|inst| inst.args.iter().copied());
    sources(vertex, stores.collect()).into_iter().all(|inst| is_free(inst, false))
}

/// `also` accepts further instructions that no input reaches; `still`: no input reaches the positions of the draw.
fn because(ir: &Shader, also: &dyn Fn(&Inst) -> bool, still: bool) -> Option<&'static str> {
    let leaves: Vec<&Inst> = ir.live_insts().filter(|inst| leaves_something(&inst.op)).collect();
    if leaves.is_empty() {
        return Some("the shader leaves nothing");
    }
    // The result of an atomic depends on the memory's previous contents.
    if leaves.iter().any(|inst| changes_memory(&inst.op)) {
        return None;
    }
    let roots = leaves.iter().flat_map(|inst| inst.args.iter().copied());
    let all = sources(ir, roots.chain(decisions(ir)).collect());
    all.into_iter().all(|inst| also(inst) || is_free(inst, still)).then_some("no input reaches what the shader leaves")
}

/// Whether an operation has results outside the invocation and the workgroup.
fn leaves_something(op: &Op) -> bool {
    let inside = matches!(
        op,
        Op::LocalStore { .. }
            | Op::SharedStore { .. }
            | Op::SharedAtomic(_)
            | Op::SharedLoad { .. }
            | Op::Barrier { .. }
            | Op::Fence { .. }
    );
    op.has_side_effects() && !inside
}

/// Whether an operation is an atomic on memory outside the workgroup.
pub(super) fn changes_memory(op: &Op) -> bool {
    match op {
        Op::BufferAtomic { .. } | Op::GlobalAtomic { .. } => true,
        Op::Image(image) => matches!(image.op, ImageOp::Atomic(_)),
        _ => false,
    }
}

/// Whether an instruction's result depends only on its operands and on the invocation; with `still`, also on the
/// positions of the draw.
fn is_free(inst: &Inst, still: bool) -> bool {
    use BuiltIn as B;
    match inst.op {
        Op::Const(_)
        | Op::Undef
        | Op::Alu(..)
        | Op::Compose
        | Op::Extract(_)
        | Op::Bitcast
        | Op::LocalLoad { .. }
        | Op::ConstLoad { .. }
        | Op::SharedLoad { .. }
        | Op::SharedAtomic(_)
        | Op::Descriptor { .. }
        | Op::Subgroup(_)
        | Op::Derivative(_)
        | Op::IsHelper
        | Op::Within(_)
        | Op::Reloc(_) => true,
        Op::LoadBuiltIn { builtin: B::FragCoord, component, .. } => component < 2 || still,
        Op::LoadBuiltIn { builtin, .. } => {
            let by_position =
                builtin.is_interpolated() || matches!(builtin, B::FrontFacing | B::FullyCovered | B::ShadingRate);
            still || !by_position
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::parse::parse;

    fn compute(body: &str) -> Option<&'static str> {
        let text = format!(
            "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\n\
             res0 \"out\" set0 binding0 storage_buffer count1\nblock0:\n\
             v0: b32 = const 0x0\n v1: b32x4 = descriptor[res0 buffer] v0\n{body}"
        );
        constant(&parse(&text).unwrap())
    }

    #[test]
    fn what_no_input_reaches_is_constant() {
        let id = " v2: b32 = load_builtin[workgroup_id component0]\n";
        let store = " buffer_store[align4] v1, v0, v2\n return\n";
        assert!(compute(&format!("{id}{store}")).is_some_and(|why| why.contains("no input")));
        assert!(compute(&format!("{id} return\n")).is_some_and(|why| why.contains("nothing")));
        let loaded = " v2: b32 = push_constant[align4] v0\n";
        assert_eq!(compute(&format!("{loaded}{store}")), None);
        assert_eq!(compute(" v2: b32 = buffer_atomic[iadd] v1, v0, v0\n return\n"), None);
        let branch = " v2: b32 = push_constant[align4] v0\n v3: b1 = ieq v2, v0\n branch v3, block1, block2\n\
            block1:\n buffer_store[align4] v1, v0, v0\n jump block2\nblock2:\n return\n";
        assert_eq!(compute(branch), None, "a branch counts");
    }

    #[test]
    fn a_colour_is_constant_if_its_varying_is() {
        let stage = |name: &str, body: &str| {
            parse(&format!("shader upper {name} \"t\"\nmodes 0 0 0 any any any any rte rte rte\nblock0:\n{body}"))
                .unwrap()
        };
        let vertex = |colour: &str| {
            stage(
                "vertex",
                &format!(
                    " v0: b32 = load_input[location0 component0 float flat]\n v1: b32 = const 0x1\n\
                     store_output[position 0 float] v0\n store_output[location 0 component0 index0 float] {colour}\n return\n"
                ),
            )
        };
        let fragment = stage(
            "fragment",
            " v0: b32 = load_input[location0 component0 float flat]\n\
             store_output[location 0 component0 index0 float] v0\n return\n",
        );
        assert!(constant_fragments(&vertex("v1"), &fragment).is_some());
        assert_eq!(constant_fragments(&vertex("v0"), &fragment), None);
    }
}
