//! Probes the features that the front end supports: each feature is put into a small module, and counts as supported
//! unless it is rejected by name.
//!
//! Operands have the right kinds and mostly wrong types, so an instruction that the front end translates is then
//! malformed, or unsupported in this form, which differs from being rejected by name.

use crate::features::{builtin_name, image_operand_names, opcode_name};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::{NOT_TRANSLATED, translate};
use dovetail::error::{Error, ErrorKind};
use dovetail::target::Stage;
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier, reflect};
use spirv::{BuiltIn, Capability, ExecutionMode, ExecutionModel, GlslStd450Op, ImageOperands, Op, StorageClass};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Upper bound of enumerants and opcodes.
const NUMBERS: u32 = 8192;

const MAIN: u32 = 1;
const VOID: u32 = 2;
const FUNCTION: u32 = 3;
const U32: u32 = 4;
const ONE: u32 = 5;
const GLSL: u32 = 6;
const POINTER: u32 = 7;
const VARIABLE: u32 = 8;
const LABEL: u32 = 9;
const RESULT: u32 = 10;
const BOUND: u32 = 16;

/// A module, by the places where the feature to probe is inserted.
struct Probe {
    model: ExecutionModel,
    capabilities: Vec<u32>,
    modes: Vec<u32>,
    decorations: Vec<u32>,
    globals: Vec<u32>,
    body: Vec<u32>,
    ends: bool,
}

impl Default for Probe {
    fn default() -> Self {
        let empty = Vec::new;
        let model = ExecutionModel::GLCompute;
        Self {
            model,
            capabilities: empty(),
            modes: empty(),
            decorations: empty(),
            globals: empty(),
            body: empty(),
            ends: true,
        }
    }
}

fn inst(op: Op, operands: &[u32]) -> Vec<u32> {
    numbered(op as u32, operands)
}

fn numbered(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
    words.extend(operands);
    words
}

impl Probe {
    /// The front end's error, if it rejects the module.
    fn refusal(&self) -> Option<Error> {
        let text = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(bytes.len() / 4 * 4 + 4, 0);
            bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect::<Vec<_>>()
        };
        let mode = match self.model {
            ExecutionModel::GLCompute => inst(Op::ExecutionMode, &[MAIN, ExecutionMode::LocalSize as u32, 2, 2, 1]),
            ExecutionModel::Fragment => inst(Op::ExecutionMode, &[MAIN, ExecutionMode::OriginUpperLeft as u32]),
            _ => Vec::new(),
        };
        let interface: &[u32] = if self.globals.is_empty() { &[] } else { &[VARIABLE] };
        let parts = [
            vec![spirv::MAGIC_NUMBER, 0x1_0600, 0, BOUND, 0],
            inst(Op::Capability, &[Capability::Shader as u32]),
            self.capabilities.clone(),
            inst(Op::ExtInstImport, &[&[GLSL][..], &text("GLSL.std.450")].concat()),
            inst(Op::MemoryModel, &[0, 1]),
            inst(Op::EntryPoint, &[&[self.model as u32, MAIN][..], &text("main"), interface].concat()),
            mode,
            self.modes.clone(),
            self.decorations.clone(),
            inst(Op::TypeVoid, &[VOID]),
            inst(Op::TypeFunction, &[FUNCTION, VOID]),
            inst(Op::TypeInt, &[U32, 32, 0]),
            inst(Op::Constant, &[U32, ONE, 1]),
            self.globals.clone(),
            inst(Op::Function, &[VOID, MAIN, 0, FUNCTION]),
            inst(Op::Label, &[LABEL]),
            self.body.clone(),
            if self.ends { inst(Op::Return, &[]) } else { Vec::new() },
            inst(Op::FunctionEnd, &[]),
        ];
        let bytes = parts.concat().iter().flat_map(|w| w.to_le_bytes()).collect();
        let stage = match self.model {
            ExecutionModel::Vertex => Stage::Vertex,
            ExecutionModel::Fragment => Stage::Fragment,
            _ => Stage::Compute,
        };
        Module::new(bytes).and_then(|module| translate(&module, "main", stage, &[])).err()
    }

    /// Whether it is rejected with a name that starts like this.
    fn refuses(&self, name: &str) -> bool {
        let refusal = self.refusal();
        refusal.is_some_and(|e| matches!(e.kind(), ErrorKind::Unsupported { feature, .. } if feature.starts_with(name)))
    }

    /// Whether the opcode is unknown, or rejected whatever its operands.
    fn is_not_translated(&self) -> bool {
        self.refusal().is_some_and(|e| match e.kind() {
            ErrorKind::Unsupported { feature, detail } => detail == NOT_TRANSLATED || feature.starts_with("opcode "),
            _ => false,
        })
    }
}

/// Words of an instruction with all required operands.
fn words(opcode: u32) -> Vec<u32> {
    let Some(grammar) = INSTRUCTION_TABLE.lookup_opcode(opcode) else {
        return numbered(opcode, &[U32, RESULT, ONE, ONE, ONE]);
    };
    let needed = grammar.operands.iter().filter(|o| o.quantifier == OperandQuantifier::One);
    let operands = needed.map(|o| match o.kind {
        OperandKind::IdResultType => U32,
        OperandKind::IdResult => RESULT,
        OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => ONE,
        OperandKind::LiteralInteger | OperandKind::LiteralContextDependentNumber => 1,
        _ => 0,
    });
    numbered(opcode, &operands.collect::<Vec<_>>())
}

fn is_supported(opcode: u32) -> bool {
    let ends = !Op::from_u32(opcode).is_some_and(reflect::is_block_terminator);
    let inside = Probe { body: words(opcode), ends, ..Default::default() };
    let outside = Probe { globals: words(opcode), ..Default::default() };
    !inside.is_not_translated() || !outside.is_not_translated()
}

/// Whether an operation on constants, which has a result, is supported.
fn is_supported_in_constants(op: u32) -> bool {
    let [_, U32, RESULT, operands @ ..] = &*words(op) else { return false };
    let globals = inst(Op::SpecConstantOp, &[&[U32, RESULT, op][..], operands].concat());
    !Probe { globals, ..Default::default() }.is_not_translated()
}

fn is_builtin_supported(model: ExecutionModel, written: bool, builtin: BuiltIn) -> bool {
    let class = if written { StorageClass::Output } else { StorageClass::Input } as u32;
    let access = if written { inst(Op::Store, &[VARIABLE, ONE]) } else { inst(Op::Load, &[U32, RESULT, VARIABLE]) };
    let probe = Probe {
        model,
        decorations: inst(Op::Decorate, &[VARIABLE, spirv::Decoration::BuiltIn as u32, builtin as u32]),
        globals: [inst(Op::TypePointer, &[POINTER, class, U32]), inst(Op::Variable, &[POINTER, VARIABLE, class])]
            .concat(),
        body: access,
        ..Default::default()
    };
    !probe.refuses("BuiltIn ")
}

/// All features that the front end supports, by the names of [`crate::features`].
pub fn supported() -> &'static BTreeSet<String> {
    static ALL: OnceLock<BTreeSet<String>> = OnceLock::new();
    ALL.get_or_init(ask)
}

fn ask() -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    // Try every number, because some instructions are newer than the grammar.
    out.extend((0..NUMBERS).filter(|n| is_supported(*n)).map(opcode_name));
    let in_constants = (0..NUMBERS).filter_map(Op::from_u32).filter(|op| is_supported_in_constants(*op as u32));
    out.extend(in_constants.map(|op| format!("OpSpecConstantOp {op:?}")));
    for op in (0..NUMBERS).filter_map(GlslStd450Op::from_u32) {
        let operands = [U32, RESULT, GLSL, op as u32, ONE, ONE, ONE];
        let probe = Probe { body: inst(Op::ExtInst, &operands), ..Default::default() };
        if !probe.refuses("GLSL.std.450") {
            out.insert(format!("GLSL.std.450 {op:?}"));
        }
    }
    for capability in (0..NUMBERS).filter_map(Capability::from_u32) {
        let probe = Probe { capabilities: inst(Op::Capability, &[capability as u32]), ..Default::default() };
        if !probe.refuses("capability") {
            out.insert(format!("capability {capability:?}"));
        }
    }
    for mode in (0..NUMBERS).filter_map(ExecutionMode::from_u32) {
        // Without operands, with a width, or with a size.
        let with = |operands: &[u32]| inst(Op::ExecutionMode, &[&[MAIN, mode as u32][..], operands].concat());
        let accepted = |modes| Probe { modes, ..Default::default() }.refusal().is_none();
        if [&[][..], &[32], &[ONE; 3]].into_iter().any(|operands| accepted(with(operands))) {
            out.insert(format!("execution mode {mode:?}"));
        }
    }
    for builtin in (0..NUMBERS).filter_map(BuiltIn::from_u32) {
        for model in [ExecutionModel::Vertex, ExecutionModel::Fragment, ExecutionModel::GLCompute] {
            for written in [false, true] {
                if is_builtin_supported(model, written, builtin) {
                    out.insert(builtin_name(model, written, builtin));
                }
            }
        }
    }
    out.extend(image_operand_names(ImageOperands::all()));
    out
}
