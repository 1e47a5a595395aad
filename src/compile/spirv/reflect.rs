//! Summary of a module, without translation: entry points, capabilities, specialization constants.

use super::{beyond, words};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::request::Module;
use spirv::{Capability, Decoration, ExecutionModel, Op};
use std::collections::{BTreeMap, BTreeSet};

/// An entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPointInfo {
    /// Its name.
    pub name: String,
    /// Its stage; `None` if it is not supported.
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
    /// Width in bits; 1 is a boolean.
    pub bits: u32,
    /// Debug name, empty if none.
    pub name: String,
}

/// Summary of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Entry points in file order.
    pub entry_points: Vec<EntryPointInfo>,
    /// Declared capabilities, SPIR-V's names, without duplicates.
    pub capabilities: Vec<String>,
    /// Whether some subgroup capability is declared: wave size can change meaning.
    pub uses_subgroups: bool,
    /// Whether a cooperative matrix capability is declared.
    pub cooperative_matrix: bool,
    /// Specialization constants, sorted by id.
    pub spec_constants: Vec<SpecConstantInfo>,
}

/// Limit of entry points of one module. Each becomes a compile of its own.
const MAX_ENTRY_POINTS: usize = 4096;

/// Summarizes a module, in time and memory proportional to the part before its functions. The functions are not read:
/// [`super::translate`] reports their errors.
///
/// # Errors
/// Malformed: the part before the functions is not valid SPIR-V. Unsupported: an unknown capability or execution model,
/// or more than 4096 entry points.
pub fn reflect(module: &Module) -> Result<ModuleInfo> {
    let words = words::words(module.bytes())?;
    let mut facts = Facts::default();
    declarations(&words, |op, operands| facts.read(op, operands))?;
    let (mut spec_constants, results) = facts.spec_constants();
    // Names precede their targets, and most targets are of other kinds.
    let mut unnamed: BTreeMap<u32, usize> = results.into_iter().zip(0..).collect();
    declarations(&words, |op, operands| {
        if let (Op::Name, [id, text @ ..]) = (op, operands)
            && let Some(constant) = unnamed.remove(id).and_then(|n| spec_constants.get_mut(n))
        {
            constant.name = words::string(text);
        }
        Ok(())
    })?;
    let capabilities: Vec<String> = facts.capabilities.iter().map(|c| format!("{c:?}")).collect();
    Ok(ModuleInfo {
        entry_points: facts.entry_points,
        uses_subgroups: capabilities.iter().any(|name| is_subgroup(name)),
        cooperative_matrix: capabilities.iter().any(|name| name.starts_with("CooperativeMatrix")),
        capabilities,
        spec_constants,
    })
}

/// Calls `read` with opcode and operands of each instruction before the first function.
fn declarations(words: &[u32], mut read: impl FnMut(Op, &[u32]) -> Result<()>) -> Result<()> {
    let mut at = words::HEADER;
    while let Some(inst) = words::instruction(words, at)? {
        let op = inst.first().and_then(|first| Op::from_u32(first & 0xffff));
        if op == Some(Op::Function) {
            break;
        }
        if let (Some(op), [_, operands @ ..]) = (op, inst)
            && !beyond::is_capability(inst)
        {
            read(op, operands).at(|| format!("word {at} (Op{op:?})"))?;
        }
        at += inst.len();
    }
    Ok(())
}

/// Declarations collected so far.
#[derive(Default)]
struct Facts {
    entry_points: Vec<EntryPointInfo>,
    capabilities: BTreeSet<Capability>,
    /// `SpecId` by id, including decoration groups.
    spec_ids: BTreeMap<u32, u32>,
    /// Bits by numeric type.
    widths: BTreeMap<u32, u32>,
    /// Type, result and default; without a type it counts as boolean.
    constants: Vec<(Option<u32>, u32, u64)>,
}

impl Facts {
    fn read(&mut self, op: Op, operands: &[u32]) -> Result<()> {
        let unknown = |what: &str, n: u32| Error::unsupported(format!("{what} {n}"), "of an unknown extension");
        match (op, operands) {
            (Op::Capability, &[n]) => {
                self.capabilities.insert(Capability::from_u32(n).ok_or_else(|| unknown("capability", n))?);
            }
            (Op::EntryPoint, [model, _, name @ ..]) => {
                if self.entry_points.len() == MAX_ENTRY_POINTS {
                    return Err(Error::unsupported("entry points", format!("over {MAX_ENTRY_POINTS} in one module")));
                }
                let known = ExecutionModel::from_u32(*model).ok_or_else(|| unknown("execution model", *model))?;
                let (name, stage) = (words::string(name), stage(known));
                self.entry_points.push(EntryPointInfo { name, stage, model: format!("{known:?}") });
            }
            (Op::Decorate, &[id, decoration, value]) if decoration == Decoration::SpecId as u32 => {
                self.spec_ids.entry(id).or_insert(value);
            }
            (Op::GroupDecorate, [group, targets @ ..]) => {
                if let Some(&value) = self.spec_ids.get(group) {
                    targets.iter().for_each(|id| _ = self.spec_ids.entry(*id).or_insert(value));
                }
            }
            (Op::TypeInt | Op::TypeFloat, [id, bits, ..]) => {
                self.widths.insert(*id, *bits);
            }
            (Op::SpecConstantTrue | Op::SpecConstantFalse, &[_, result]) => {
                self.constants.push((None, result, u64::from(op == Op::SpecConstantTrue)));
            }
            (Op::SpecConstant, &[ty, result, low, ref high @ ..]) => {
                let high = high.first().copied().unwrap_or(0);
                self.constants.push((Some(ty), result, u64::from(low) | u64::from(high) << 32));
            }
            (Op::Capability | Op::EntryPoint | Op::SpecConstantTrue | Op::SpecConstantFalse | Op::SpecConstant, _) => {
                return Err(Error::malformed("not as many operands as it has"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The constants sorted by `SpecId`, and their result ids in the same order.
    fn spec_constants(&self) -> (Vec<SpecConstantInfo>, Vec<u32>) {
        let described = self.constants.iter().filter_map(|&(ty, result, default)| {
            let id = *self.spec_ids.get(&result)?;
            let bits = ty.map_or(1, |ty| self.widths.get(&ty).copied().unwrap_or(1));
            Some((SpecConstantInfo { id, default, bits, name: String::new() }, result))
        });
        let mut all: Vec<_> = described.collect();
        // Compilers declare a constant twice if it is a workgroup size as well.
        all.sort_by_key(|(constant, _)| constant.id);
        all.dedup_by_key(|(constant, _)| constant.id);
        all.into_iter().unzip()
    }
}

/// The stage of an execution model; `None` if it is not supported.
pub fn stage(model: ExecutionModel) -> Option<Stage> {
    match model {
        ExecutionModel::Vertex => Some(Stage::Vertex),
        ExecutionModel::Fragment => Some(Stage::Fragment),
        ExecutionModel::GLCompute => Some(Stage::Compute),
        _ => None,
    }
}

fn is_subgroup(capability: &str) -> bool {
    capability.starts_with("GroupNonUniform") || capability.starts_with("Subgroup") || capability == "Groups"
}

impl ModuleInfo {
    /// The values for constants that the module has: sorted by id, without duplicates; the last value given wins.
    pub fn specialization(&self, values: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let known = values.iter().filter(|(id, _)| self.spec_constants.binary_search_by_key(id, |c| c.id).is_ok());
        known.copied().collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
    }
}
