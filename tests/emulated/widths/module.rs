//! Writes rows of the table into a module, runs it in every way, and compares.

use super::number::{Num, signed};
use crate::everywhere::{assembled, run, storage};
use dovetail::emu::inputs::Inputs;
use std::fmt::Write;

/// Sets of operands of a row.
pub const SETS: usize = 16;
/// Most operands of a row.
const MOST: usize = 4;

/// The result of a set, given all sets.
type Expected = Box<dyn Fn(&[u64], &[Vec<u64>]) -> Option<u64>>;

/// An instruction with its types.
pub struct Row {
    /// Name and types.
    pub name: String,
    /// Types of the operands `{0}`, `{1}`, …
    pub args: Vec<Num>,
    /// Type of the result `{r}`.
    pub result: Num,
    /// Instructions; `{n}` is a number of the row's own, `{d}` the variables of the function.
    pub body: String,
    /// Function variables, likewise.
    pub variables: String,
    /// Operands, by set.
    pub sets: Vec<Vec<u64>>,
    /// The result of a set, given all sets; `None` where it is undefined.
    pub expected: Expected,
    /// Lanes take part in each other's results: only for operands that differ between lanes.
    pub across: bool,
}

/// How a shader gets its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Each lane has a set of its own.
    Lanes,
    /// Each workgroup of one invocation has a set of its own.
    Workgroups,
    /// As lanes, but the last operand is the constant of the first set.
    LastConstant,
    /// All operands are the constants of the second set.
    AllConstant,
}

/// Runs these rows and returns what is wrong; `None` if a tool is missing.
pub fn check(test: &str, rows: &[Row], source: Source) -> Option<Vec<String>> {
    let fits = |row: &&Row| match source {
        Source::Lanes => true,
        Source::Workgroups | Source::AllConstant => !row.across,
        Source::LastConstant => row.args.len() > 1,
    };
    let rows: Vec<&Row> = rows.iter().filter(fits).collect();
    if rows.is_empty() {
        return Some(Vec::new());
    }
    let sets: Vec<Vec<Vec<u64>>> = rows.iter().map(|row| sets_of(row, source)).collect();
    let module = assembled(test, &text(&rows, &sets, source))?;
    let mut words = vec![0u64; rows.len() * MOST * SETS];
    for (row, sets) in sets.iter().enumerate() {
        for (at, set) in sets.iter().enumerate() {
            for (n, x) in set.iter().enumerate() {
                words[(row * MOST + n) * SETS + at] = *x;
            }
        }
    }
    let bytes = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let bindings = vec![storage(0, bytes(&words)), storage(1, vec![0; rows.len() * SETS * 8])];
    let grid = if source == Source::Workgroups { [SETS as u32, 1, 1] } else { [1; 3] };
    let inputs = Inputs { bindings, grid, ..Default::default() };
    let all = match run(&module, &inputs) {
        Ok(all) => all,
        // One by one, to name the row.
        Err(why) if rows.len() == 1 => return Some(vec![format!("{} ({source:?}): {why}", rows[0].name)]),
        Err(_) => {
            let mut wrong = Vec::new();
            for row in &rows {
                wrong.extend(check(test, std::slice::from_ref(*row), source)?);
            }
            return Some(wrong);
        }
    };
    let mut wrong = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for left in &all {
            let found = left.bindings[1].as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b));
            let found: Vec<u64> = found.skip(n * SETS).take(SETS).collect();
            for (at, set) in sets[n].iter().enumerate() {
                let Some(expected) = (row.expected)(set, &sets[n]) else { continue };
                let expected = expected & row.result.mask();
                if found[at] != expected {
                    wrong.push(format!(
                        "{} ({source:?}, {} of {} lanes): {set:x?}: {:#x}, expected {expected:#x}",
                        row.name, left.way, left.lanes, found[at]
                    ));
                    break;
                }
            }
        }
    }
    Some(wrong)
}

/// The sets of a row as a shader gets them.
fn sets_of(row: &Row, source: Source) -> Vec<Vec<u64>> {
    let mut sets = row.sets.clone();
    for set in &mut sets {
        match source {
            Source::Lanes | Source::Workgroups => {}
            Source::LastConstant => {
                let last = set.len() - 1;
                set[last] = row.sets[0][last];
            }
            Source::AllConstant => set.clone_from(&row.sets[1]),
        }
    }
    sets
}

fn text(rows: &[&Row], sets: &[Vec<Vec<u64>>], source: Source) -> String {
    let (mut constants, mut variables, mut body) = (String::new(), String::new(), String::new());
    for (n, row) in rows.iter().enumerate() {
        let mut filled = row.body.replace("{n}", &n.to_string()).replace("{r}", &format!("%r{n}"));
        for (k, ty) in row.args.iter().enumerate() {
            let constant = source == Source::AllConstant || source == Source::LastConstant && k + 1 == row.args.len();
            let id = if constant {
                let _ = writeln!(constants, "%c{n}_{k} = OpConstant {} {}", ty.id(), literal(*ty, sets[n][0][k]));
                format!("%c{n}_{k}")
            } else {
                body += &read(*ty, &format!("{n}_{k}"));
                format!("%a{n}_{k}")
            };
            let place = (n * MOST + k) * SETS;
            let _ = writeln!(constants, "%at{n}_{k} = OpConstant %u32 {place}");
            filled = filled.replace(&format!("{{{k}}}"), &id);
            filled = filled.replace(&format!("{{at{k}}}"), &format!("%at{n}_{k}"));
        }
        let _ = writeln!(constants, "%to{n} = OpConstant %u32 {}", n * SETS);
        variables += &row.variables.replace("{n}", &n.to_string());
        body += &filled;
        body += &write(row.result, n);
    }
    let size = if source == Source::Workgroups { 1 } else { SETS };
    let index = match source {
        Source::Workgroups => {
            ("WorkgroupId", "%p_in3", "%group = OpLoad %u3 %id\n%i = OpCompositeExtract %u32 %group 0")
        }
        _ => ("LocalInvocationIndex", "%p_in", "%i = OpLoad %u32 %id"),
    };
    let (built_in, to_index, index) = index;
    let capabilities = [
        "Int8",
        "Int16",
        "Int64",
        "Float16",
        "Float64",
        "VariablePointersStorageBuffer",
        "VariablePointers",
        "GroupNonUniform",
        "GroupNonUniformShuffle",
        "GroupNonUniformShuffleRelative",
        "GroupNonUniformBallot",
        "GroupNonUniformRotateKHR",
    ];
    let capabilities: String = capabilities.iter().map(|c| format!("OpCapability {c}\n")).collect();
    format!(
        "OpCapability Shader
        {capabilities}OpExtension \"SPV_KHR_subgroup_rotate\"
        %glsl = OpExtInstImport \"GLSL.std.450\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %id %in %out %shared
        OpExecutionMode %main LocalSize {size} 1 1
        OpDecorate %id BuiltIn {built_in}
        OpDecorate %words ArrayStride 8
        OpDecorate %p_word ArrayStride 8
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %in DescriptorSet 0
        OpDecorate %in Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %u8 = OpTypeInt 8 0
        %i8 = OpTypeInt 8 1
        %u16 = OpTypeInt 16 0
        %i16 = OpTypeInt 16 1
        %u32 = OpTypeInt 32 0
        %i32 = OpTypeInt 32 1
        %u64 = OpTypeInt 64 0
        %i64 = OpTypeInt 64 1
        %f16 = OpTypeFloat 16
        %f32 = OpTypeFloat 32
        %f64 = OpTypeFloat 64
        %u3 = OpTypeVector %u32 3
        %u4 = OpTypeVector %u32 4
        %n0 = OpConstant %u32 0
        %n1 = OpConstant %u32 1
        %n2 = OpConstant %u32 2
        %n3 = OpConstant %u32 3
        %n4 = OpConstant %u32 4
        %n8 = OpConstant %u32 8
        %k_11 = OpConstant %u32 11
        %k_22 = OpConstant %u32 22
        %k_33 = OpConstant %u32 33
        %k_44 = OpConstant %u32 44
        %four = OpConstantComposite %u4 %k_11 %k_22 %k_33 %k_44
        %a4 = OpTypeArray %u32 %n4
        %four_of = OpConstantComposite %a4 %k_11 %k_22 %k_33 %k_44
        %p_a4 = OpTypePointer Function %a4
        %p_u4 = OpTypePointer Function %u4
        %p_local = OpTypePointer Function %u32
        %p_shared = OpTypePointer Workgroup %a4
        %p_shared_word = OpTypePointer Workgroup %u32
        %words = OpTypeRuntimeArray %u64
        %block = OpTypeStruct %words
        %p_block = OpTypePointer StorageBuffer %block
        %p_word = OpTypePointer StorageBuffer %u64
        %p_in = OpTypePointer Input %u32
        %p_in3 = OpTypePointer Input %u3
        {pairs}
        %id = OpVariable {to_index} Input
        %in = OpVariable %p_block StorageBuffer
        %out = OpVariable %p_block StorageBuffer
        %shared = OpVariable %p_shared Workgroup
        {constants}
        %main = OpFunction %void None %fn
        %entry = OpLabel
        {variables}
        {index}
        {body}
        OpReturn
        OpFunctionEnd",
        pairs = pairs(),
    )
}

/// Structures of two numbers, as some instructions return.
fn pairs() -> String {
    let mut out = String::new();
    for bits in [8, 16, 32, 64] {
        let _ = writeln!(out, "%uu{bits} = OpTypeStruct %u{bits} %u{bits}\n%ii{bits} = OpTypeStruct %i{bits} %i{bits}");
        for float in [16, 32, 64] {
            let _ = writeln!(out, "%f{float}i{bits} = OpTypeStruct %f{float} %i{bits}");
        }
    }
    for float in [16, 32, 64] {
        let _ = writeln!(out, "%ff{float} = OpTypeStruct %f{float} %f{float}");
    }
    out
}

/// Reads an operand into `%a{id}`.
fn read(ty: Num, id: &str) -> String {
    let mut out = format!(
        "%k{id} = OpIAdd %u32 %i %at{id}\n%p{id} = OpAccessChain %p_word %in %n0 %k{id}\n%x{id} = OpLoad %u64 %p{id}\n"
    );
    let bits = ty.bits();
    out += &match bits {
        64 => format!("%y{id} = OpCopyObject %u64 %x{id}\n"),
        _ => format!("%y{id} = OpUConvert %u{bits} %x{id}\n"),
    };
    out + &match ty {
        Num::U(_) => format!("%a{id} = OpCopyObject %u{bits} %y{id}\n"),
        _ => format!("%a{id} = OpBitcast {} %y{id}\n", ty.id()),
    }
}

/// Writes the result `%r{n}`.
fn write(ty: Num, n: usize) -> String {
    let bits = ty.bits();
    let plain = match ty {
        Num::U(_) => format!("%z{n} = OpCopyObject %u{bits} %r{n}\n"),
        _ => format!("%z{n} = OpBitcast %u{bits} %r{n}\n"),
    };
    let wide = match bits {
        64 => format!("%w{n} = OpCopyObject %u64 %z{n}\n"),
        _ => format!("%w{n} = OpUConvert %u64 %z{n}\n"),
    };
    let place = format!("%q{n} = OpIAdd %u32 %i %to{n}\n%o{n} = OpAccessChain %p_word %out %n0 %q{n}\n");
    plain + &wide + &place + &format!("OpStore %o{n} %w{n}\n")
}

fn literal(ty: Num, x: u64) -> String {
    match ty {
        Num::U(_) => (x & ty.mask()).to_string(),
        Num::S(bits) => signed(x & ty.mask(), bits).to_string(),
        Num::F(bits) => hexadecimal(super::number::decode(x, bits)),
    }
}

/// A float as the assembler reads it back exactly.
fn hexadecimal(x: f64) -> String {
    format!("{x:?}")
}
