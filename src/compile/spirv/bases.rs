//! Which buffers a pointer that is a value may point into: one that is stored, selected, passed along an edge or returned.
//!
//! Ids between which pointers may flow are one class, whichever way they flow, and a variable that holds pointers stands for
//! what it holds. Only a pointer that is taken from a buffer's variable does not join this with its class: the variable is one
//! of the class's bases. So a loop that walks through one buffer has one base, whatever else the shader does with the buffer.

use super::cx::{Cx, Def, SpirvInst, Storage};
use super::parse::SpirvFunction;
use crate::error::Result;
use crate::workspace::List;
use rspirv::dr::Operand;
use spirv::Op;

/// Classes of pointers, with the buffers that they may point into.
#[derive(Debug, Default)]
pub struct Bases {
    /// By id, one of its class; the one that names the class, once all are known.
    classes: List<u32>,
    /// Classes with the variable of a buffer.
    variables: List<(u32, u32)>,
}

impl Bases {
    /// Follows all pointers of the module. Types, constants and global variables are declared.
    ///
    /// # Errors
    /// Malformed instructions.
    pub fn of(cx: &Cx<'_>) -> Result<Self> {
        let mut bases = Self::default();
        bases.classes.extend(0..cx.module.bound);
        for variable in cx.module.globals().filter(|inst| inst.op() == Op::Variable) {
            bases.flows(cx, &variable)?;
        }
        for function in cx.module.functions() {
            bases.function(cx, &function)?;
        }
        for id in 0..cx.module.bound {
            let class = bases.name(id);
            if let Some(slot) = bases.classes.get_mut(id as usize) {
                *slot = class;
            }
        }
        for (class, _) in bases.variables.iter_mut() {
            *class = bases.classes.get(*class as usize).copied().unwrap_or(*class);
        }
        bases.variables.sort_unstable();
        bases.variables.dedup();
        Ok(bases)
    }

    /// The class of an id.
    pub fn class(&self, id: u32) -> u32 {
        self.classes.get(id as usize).copied().unwrap_or(id)
    }

    /// The variables of the buffers that pointers of a class may point into.
    pub fn variables(&self, class: u32) -> impl Iterator<Item = u32> {
        let first = self.variables.partition_point(|(of, _)| *of < class);
        let rest = self.variables.get(first..).unwrap_or(&[]);
        rest.iter().take_while(move |(of, _)| *of == class).map(|(_, variable)| *variable)
    }

    fn function(&mut self, cx: &Cx<'_>, function: &SpirvFunction<'_>) -> Result<()> {
        for inst in function.insts() {
            let inst = &inst;
            match inst.op() {
                Op::Store | Op::CopyMemory => self.flow(cx, inst.id(0)?, inst.id(1)?),
                Op::ReturnValue => self.flow(cx, function.def.result()?, inst.id(0)?),
                Op::FunctionCall => {
                    self.flows(cx, inst)?;
                    let Some(Def::Function(n)) = cx.known(inst.id(0)?) else { continue };
                    let Some(callee) = cx.module.function(*n as usize) else { continue };
                    for (param, arg) in callee.params.iter().zip(inst.ids_from(1)) {
                        self.flow(cx, param.result()?, arg?);
                    }
                }
                _ => self.flows(cx, inst)?,
            }
        }
        Ok(())
    }

    /// From all operands of an instruction to its result. A call's function stands for what it returns; its arguments flow to
    /// the parameters.
    fn flows(&mut self, cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
        let Some(result) = inst.result_id.filter(|id| reaches_pointers(cx, *id)) else { return Ok(()) };
        let from = if inst.op() == Op::FunctionCall { inst.operands.get(..1) } else { Some(inst.operands) };
        for operand in from.unwrap_or_default() {
            if let Operand::IdRef(id) = operand {
                self.flow(cx, result, *id);
            }
        }
        Ok(())
    }

    fn flow(&mut self, cx: &Cx<'_>, to: u32, from: u32) {
        if !reaches_pointers(cx, from) {
            return;
        }
        match cx.known(from) {
            // A null pointer is the same constant everywhere.
            Some(Def::Constant(_)) => {}
            Some(Def::Pointer(p)) if cx.pointer_at(*p).is_ok_and(|p| matches!(p.place, Storage::Buffer { .. })) => {
                self.variables.push((to, from));
            }
            _ => {
                let (to, from) = (self.name(to), self.name(from));
                if let Some(slot) = self.classes.get_mut(from as usize) {
                    *slot = to;
                }
            }
        }
    }

    /// The id that names a class so far. Chains to it are halved on the way.
    fn name(&mut self, id: u32) -> u32 {
        let mut at = id;
        loop {
            let above = self.class(at);
            let further = self.class(above);
            if above == further {
                return above;
            }
            if let Some(slot) = self.classes.get_mut(at as usize) {
                *slot = further;
            }
            at = further;
        }
    }
}

fn reaches_pointers(cx: &Cx<'_>, id: u32) -> bool {
    cx.type_id(id).is_ok_and(|ty| cx.types.reaches_pointers(ty))
}
