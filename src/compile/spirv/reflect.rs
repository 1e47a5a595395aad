//! What a module offers, without translating it: entry points, capabilities, specialization constants.

use super::parse::{self, Parsed};
use crate::compile::request::Module;
use crate::error::Result;
use crate::target::Stage;
use rspirv::dr::Operand;
use spirv::{Capability, Decoration, ExecutionModel, Op};

/// An entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPointInfo {
    /// Its name.
    pub name: String,
    /// Its stage, if one that is compiled here.
    pub stage: Option<Stage>,
    /// SPIR-V's name of the stage.
    pub model: String,
}

/// A specialization constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstantInfo {
    /// `SpecId`.
    pub id: u32,
    /// Value without specialization.
    pub default: u64,
    /// Width; 1 is a truth value.
    pub bits: u32,
    /// Debug name, empty if none.
    pub name: String,
}

/// What a module offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Entry points in file order.
    pub entry_points: Vec<EntryPointInfo>,
    /// Declared capabilities, SPIR-V's names.
    pub capabilities: Vec<String>,
    /// Some subgroup capability is declared: wave size can change meaning.
    pub uses_subgroups: bool,
    /// A cooperative matrix capability is declared.
    pub cooperative_matrix: bool,
    /// Specialization constants, sorted by id.
    pub spec_constants: Vec<SpecConstantInfo>,
}

/// Reads what a module offers.
///
/// # Errors
/// Malformed or unsupported words.
pub fn reflect(module: &Module) -> Result<ModuleInfo> {
    let parsed = parse::parse(module.bytes())?;
    let entry_points = parsed.entry_points.iter().map(|e| EntryPointInfo {
        name: e.name.clone(),
        stage: stage(e.model),
        model: format!("{:?}", e.model),
    });
    let capabilities: Vec<String> = parsed.capabilities.iter().map(|c| format!("{c:?}")).collect();
    Ok(ModuleInfo {
        entry_points: entry_points.collect(),
        uses_subgroups: parsed.capabilities.iter().any(|c| is_subgroup(*c)),
        cooperative_matrix: capabilities.iter().any(|c| c.starts_with("CooperativeMatrix")),
        capabilities,
        spec_constants: spec_constants(&parsed)?,
    })
}

/// The stage of an execution model, if one that is compiled here.
pub fn stage(model: ExecutionModel) -> Option<Stage> {
    match model {
        ExecutionModel::Vertex => Some(Stage::Vertex),
        ExecutionModel::Fragment => Some(Stage::Fragment),
        ExecutionModel::GLCompute => Some(Stage::Compute),
        _ => None,
    }
}

fn is_subgroup(capability: Capability) -> bool {
    let name = format!("{capability:?}");
    name.starts_with("GroupNonUniform") || name.starts_with("Subgroup") || name == "Groups"
}

fn spec_constants(parsed: &Parsed) -> Result<Vec<SpecConstantInfo>> {
    let mut out = Vec::new();
    for inst in &parsed.globals {
        let default = match (inst.op(), inst.raw.operands.first()) {
            (Op::SpecConstantTrue, _) => 1,
            (Op::SpecConstantFalse, _) => 0,
            (Op::SpecConstant, Some(Operand::LiteralBit32(x))) => u64::from(*x),
            (Op::SpecConstant, Some(Operand::LiteralBit64(x))) => *x,
            _ => continue,
        };
        let result = inst.result()?;
        let Some(id) = parsed.decoration(result, Decoration::SpecId) else { continue };
        let bits = match parsed.global(inst.result_type()?) {
            Some(t) if matches!(t.op(), Op::TypeInt | Op::TypeFloat) => t.literal(0)?,
            _ => 1,
        };
        out.push(SpecConstantInfo { id, default, bits, name: parsed.name(result).to_owned() });
    }
    // Compilers declare one constant twice where it is a workgroup size as well.
    out.sort_by_key(|c| c.id);
    out.dedup_by_key(|c| c.id);
    Ok(out)
}

impl ModuleInfo {
    /// Of these values, those of constants that the module has: sorted, each id once, the last value given for it.
    pub fn specialization(&self, values: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let known = values.iter().filter(|(id, _)| self.spec_constants.binary_search_by_key(id, |c| c.id).is_ok());
        known.copied().collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
    }
}
