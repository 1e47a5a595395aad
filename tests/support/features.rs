//! Names of the features that a SPIR-V module uses: instructions, GLSL.std.450, capabilities, execution modes,
//! built-ins by stage and direction, dimensions, image operands.
//!
//! This parses words without the front end, which is the code being measured.

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use spirv::{BuiltIn, Capability, Decoration, Dim, ExecutionMode, ExecutionModel, GlslStd450Op, ImageOperands, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that are newer than the decoder's grammar.
pub fn opcode_name(opcode: u32) -> String {
    Op::from_u32(opcode).map_or_else(|| format!("opcode {opcode}"), |op| format!("Op{op:?}"))
}

/// Name of a built-in of a stage, read or written.
pub fn builtin_name(model: ExecutionModel, written: bool, builtin: BuiltIn) -> String {
    format!("BuiltIn {builtin:?}, {} of {model:?}", if written { "output" } else { "input" })
}

/// Names of the set bits of image operands.
pub fn image_operand_names(mask: ImageOperands) -> impl Iterator<Item = String> {
    mask.iter_names().map(|(name, _)| format!("image operand {name}"))
}

/// All features that a module uses.
pub fn of(module: &[u8]) -> BTreeSet<String> {
    let words: Vec<u32> = module.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let mut out = Features::default();
    let mut rest = &words[5..];
    while let Some(first) = rest.first() {
        let (inst, after) = rest.split_at((first >> 16) as usize);
        out.instruction(first & 0xffff, inst);
        rest = after;
    }
    out.names.extend(out.builtins());
    out.names
}

#[derive(Default)]
struct Features {
    names: BTreeSet<String>,
    glsl: Option<u32>,
    model: Option<ExecutionModel>,
    /// Built-in by decorated variable or struct, and member.
    decorated: BTreeMap<(u32, Option<u32>), BuiltIn>,
    constants: BTreeMap<u32, u32>,
    pointees: BTreeMap<u32, u32>,
    /// Variables: type of pointer, storage class.
    variables: BTreeMap<u32, (u32, u32)>,
    /// Variables in use, with the accessed member.
    used: BTreeSet<(u32, Option<u32>)>,
}

impl Features {
    fn instruction(&mut self, opcode: u32, inst: &[u32]) {
        // An operation on constants counts under its own name.
        if opcode != Op::SpecConstantOp as u32 {
            self.names.insert(opcode_name(opcode));
        }
        let Some(op) = Op::from_u32(opcode) else { return };
        match (op, inst) {
            (Op::Capability, &[_, c]) => {
                self.names.extend(Capability::from_u32(c).map(|c| format!("capability {c:?}")));
            }
            (Op::ExtInstImport, [_, id, name @ ..]) => {
                let text: Vec<u8> = name.iter().flat_map(|w| w.to_le_bytes()).collect();
                self.glsl = self.glsl.or(text.starts_with(b"GLSL.std.450\0").then_some(*id));
            }
            (Op::ExtInst, &[_, _, _, set, number, ..]) if self.glsl == Some(set) => {
                self.names.extend(GlslStd450Op::from_u32(number).map(|op| format!("GLSL.std.450 {op:?}")));
            }
            (Op::SpecConstantOp, &[_, _, _, number, ..]) => {
                self.names.extend(Op::from_u32(number).map(|op| format!("OpSpecConstantOp {op:?}")));
            }
            (Op::EntryPoint, &[_, model, ..]) => self.model = ExecutionModel::from_u32(model),
            (Op::ExecutionMode | Op::ExecutionModeId, &[_, _, mode, ..]) => {
                self.names.extend(ExecutionMode::from_u32(mode).map(|mode| format!("execution mode {mode:?}")));
            }
            (Op::Decorate, &[_, id, d, number]) if d == Decoration::BuiltIn as u32 => {
                self.decorated.extend(BuiltIn::from_u32(number).map(|b| ((id, None), b)));
            }
            (Op::MemberDecorate, &[_, id, member, d, number]) if d == Decoration::BuiltIn as u32 => {
                self.decorated.extend(BuiltIn::from_u32(number).map(|b| ((id, Some(member)), b)));
            }
            (Op::Constant, &[_, _, id, number]) => _ = self.constants.insert(id, number),
            (Op::TypePointer, &[_, id, _, pointee]) => _ = self.pointees.insert(id, pointee),
            (Op::Variable, &[_, ty, id, class, ..]) => _ = self.variables.insert(id, (ty, class)),
            (Op::TypeImage, &[_, _, _, dim, _, arrayed, samples, usage, ..]) => {
                let dim = Dim::from_u32(dim).map_or_else(|| dim.to_string(), |dim| format!("{dim:?}"));
                let kind = if usage == 2 { "storage" } else { "sampled" };
                let form = [(arrayed, " array"), (samples, " multisampled")];
                let form: String = form.iter().filter(|(is, _)| *is == 1).map(|(_, text)| *text).collect();
                self.names.insert(format!("{kind} image {dim}{form}"));
            }
            (Op::AccessChain | Op::InBoundsAccessChain, &[_, _, _, base, ref index @ ..]) => {
                let member = index.first().and_then(|id| self.constants.get(id)).copied();
                self.used.extend([(base, None), (base, member)]);
            }
            (Op::Load, &[_, _, _, pointer, ..]) | (Op::Store, &[_, pointer, ..]) => {
                _ = self.used.insert((pointer, None))
            }
            _ => {}
        }
        let operands = INSTRUCTION_TABLE.get(op).operands;
        // Every operand before the mask is one word.
        let mask = operands.iter().position(|o| o.kind == OperandKind::ImageOperands);
        if let Some(mask) = mask.and_then(|at| inst.get(at + 1)) {
            self.names.extend(image_operand_names(ImageOperands::from_bits_truncate(*mask)));
        }
    }

    /// Built-ins that are read or written, not only declared.
    fn builtins(&self) -> Vec<String> {
        let Some(model) = self.model else { return Vec::new() };
        let of = |&(variable, member): &(u32, Option<u32>)| {
            let &(ty, class) = self.variables.get(&variable)?;
            let written = class == spirv::StorageClass::Output as u32;
            let own = self.decorated.get(&(variable, None));
            let block = || self.decorated.get(&(*self.pointees.get(&ty)?, Some(member?)));
            let builtin = own.or_else(block)?;
            Some(builtin_name(model, written, *builtin))
        };
        self.used.iter().filter_map(of).collect()
    }
}
