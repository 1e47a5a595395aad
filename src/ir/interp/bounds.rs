//! Bounds of memory accesses. Outside its array or variable, a read is undefined and a write may hit anything. A read
//! through a never-written variable is also undefined if another variable writes the same memory.

use super::memory::ShadowedMemory;
use super::shadow::Shadow;
use dovetail_ir::{AluOp, Inst, Op, Shader};
use std::collections::BTreeSet;
use std::ops::Range;

/// Certainty of an access to memory that belongs to one variable: uncertain if it may be out of bounds.
pub(super) fn within(address: Shadow, memory: &ShadowedMemory, at: u64, bytes: u32) -> Shadow {
    if inside(&(0..memory.bytes().len() as u32), at, bytes) { address } else { Shadow::UNCERTAIN }
}

/// Whether an access of this size lies in a range.
pub(super) fn inside(range: &Range<u32>, at: u64, bytes: u32) -> bool {
    at >= u64::from(range.start) && at.checked_add(bytes.into()).is_some_and(|end| end <= u64::from(range.end))
}

/// The variables of workgroup memory.
pub(super) struct Reach {
    variables: Vec<Range<u32>>,
    /// Sets and bindings that something writes.
    pub written: BTreeSet<(u32, u32)>,
}

impl Reach {
    pub fn new(shader: &Shader) -> Self {
        let written = shader.resources.iter().filter(|r| r.written).map(|r| (r.set, r.binding)).collect();
        Self { variables: shader.shared_variables.to_vec(), written }
    }

    /// The range of the variable that an access belongs to, by the constant part of its offset; without variables, all
    /// of memory.
    pub fn of(&self, shader: &Shader, inst: &Inst, all: u32) -> Option<Range<u32>> {
        let offset = *inst.args.first()?;
        let constant = shader.as_const(offset).or_else(|| {
            let def = shader.def(offset)?;
            let sum = matches!(def.op, Op::Alu(AluOp::IAdd, _));
            def.args.iter().filter(|_| sum).find_map(|v| shader.as_const(*v))
        });
        let constant = constant.unwrap_or(0) as u32;
        if self.variables.is_empty() {
            return Some(0..all);
        }
        // Explicitly laid out blocks share memory: the longest counts.
        let here = self.variables.iter().filter(|variable| variable.contains(&constant));
        here.max_by_key(|variable| variable.end).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, ShadowedMemory, World, dispatch};
    use dovetail_ir::parse::parse;

    /// Runs a workgroup of 8 invocations that store `v20`; `v1` is the invocation's index. Returns for each whether the
    /// stored value is certain.
    fn known(header: &str, body: &str, variables: &[std::ops::Range<u32>]) -> Vec<bool> {
        let text = format!(
            "shader upper compute \"t\"\nmodes 8 1 1 any any any any rte rte rte\n{header}\
             res0 \"out\" set0 binding0 storage_buffer count1 written\nblock0:\n\
             v0: b32 = const 0x0\n v1: b32 = load_builtin[local_invocation_index component0]\n\
             v2: b32 = const 0x4\n v3: b32 = imul v1, v2\n v4: b32x4 = descriptor[res0 buffer] v0\n\
             {body}\nbuffer_store[align4] v4, v3, v20\n return\n"
        );
        let mut shader = parse(&text).expect("a shader");
        shader.shared_variables = variables.to_vec().into();
        let mut world = World::default();
        world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0xff; 32]));
        let options = Options { subgroup_size: 8, shadow: true, ..Options::default() };
        dispatch(&shader, &mut world, [1; 3], options).expect("a run");
        let conflicts = world.contradicted();
        if !conflicts.is_empty() {
            world = World { conflicts, ..World::default() };
            world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0xff; 32]));
            dispatch(&shader, &mut world, [1; 3], options).expect("a run");
        }
        let memory = world.buffers.remove(&(0, 0, 0)).expect("the buffer");
        (0..8).map(|n| !memory.load(n * 4, dovetail_ir::Bits::B32).1.is_uncertain()).collect()
    }

    #[test]
    fn beyond_a_local_is_nothing_known() {
        // Four dwords, each written; eight invocations read one each.
        let header = "local0 \"array\" 16 align4\n";
        let stores: String = [0, 4, 8, 12]
            .map(|at| format!("v5{at}: b32 = const {at:#x}\n local_store[local0 align4] v5{at}, v1\n"))
            .concat();
        let read = "v10: b32 = imul v3, v11\n v20: b32 = local_load[local0 align4] v10";
        let found = known(header, &format!("v11: b32 = const 0x1\n{stores}{read}"), &[]);
        assert_eq!(found, [true, true, true, true, false, false, false, false]);
        // A write out of bounds may hit it.
        let beyond = format!("{stores}v12: b32 = const 0x10\n local_store[local0 align4] v12, v1\n");
        let read = "v13: b32 = const 0x0\n v20: b32 = local_load[local0 align4] v13";
        assert_eq!(known(header, &format!("{beyond}{read}"), &[]), [false; 8]);
    }

    #[test]
    fn beyond_a_variable_of_the_workgroup_is_nothing_known() {
        // Two arrays of four; an access to the first array reads from the second.
        let header = "shared 32\n";
        let fill = "shared_store[align4] v3, v1\n barrier[exec workgroup]\n";
        let fill = fill.replace("barrier[exec workgroup]\n", "");
        let read = "v20: b32 = shared_load[align4] v3";
        let two = [0..16, 16..32];
        let within = known(header, &format!("{fill}{read}"), &[]);
        assert_eq!(within, [true; 8], "all is one");
        let fill = "v10: b32 = const 0x10\n v11: b1 = ult v3, v10\n v12: b32 = const 0xc\n\
             v13: b32 = select v11, v3, v12\n shared_store[align4] v13, v0\n ";
        assert_eq!(known(header, &format!("{fill}{read}"), &two)[4..], [false; 4]);
        assert_eq!(known(header, &format!("{fill}{read}"), &two)[..4], [true; 4]);
    }

    #[test]
    fn lanes_that_do_not_take_part_give_nothing_known() {
        let up = "v10: b32 = const 0x2\n v20: b32 = subgroup_shuffle_up v1, v10";
        assert_eq!(known("", up, &[]), [false, false, true, true, true, true, true, true]);
        let far = "v10: b32 = const 0x6\n v11: b32 = iadd v1, v10\n v20: b32 = subgroup_shuffle v1, v11";
        assert_eq!(known("", far, &[]), [true, true, false, false, false, false, false, false]);
    }

    #[test]
    fn an_index_beyond_its_array_is_not_known_though_its_variable_goes_on() {
        let read = "v10: b32 = within[3] v1\n v20: b32 = imul v10, v2";
        assert_eq!(known("", read, &[]), [true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn descriptors_that_are_not_there_or_not_the_same_stop_the_run() {
        let run = |count: u32, index: &str, flag: &str| {
            let text = format!(
                "shader upper compute \"t\"\nmodes 8 1 1 any any any any rte rte rte\n\
                 res0 \"in\" set0 binding0 storage_buffer count{count}\nblock0:\n\
                 v0: b32 = const 0x2\n v1: b32 = load_builtin[local_invocation_index component0]\n\
                 v4: b32x4 = descriptor[res0 buffer{flag}] {index}\n return\n"
            );
            let shader = parse(&text).expect("a shader");
            dispatch(&shader, &mut World::default(), [1; 3], Options::default()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(run(3, "v0", ""), Ok(()));
        assert!(run(2, "v0", "").is_err_and(|why| why.contains("beyond 2")));
        assert!(run(8, "v1", "").is_err_and(|why| why.contains("non-uniform")));
        assert_eq!(run(8, "v1", " non_uniform"), Ok(()));
    }

    #[test]
    fn a_variable_that_nobody_writes_and_somebody_does_is_not_known() {
        let load = |how: &str| {
            format!(
                "v10: b32 = buffer_load[storage align4{how}] v4, v3\n v11: b32 = const 0x1\n v20: b32 = iadd v10, v11"
            )
        };
        assert_eq!(known("", &load(" read_only"), &[]), [false; 8], "the store comes later");
        assert_eq!(known("", &load(""), &[]), [true; 8]);
    }
}
