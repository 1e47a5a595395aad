//! Descriptors whose places the linker decides: the offset in the table, and for a buffer the table.

use super::integer::chosen_by;
use super::{Selector, run_of};
use crate::mir::{Extra, LinkedDescriptor, OperandValue};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Op as IrOp, SymbolId, Value};
use dovetail_isa::Op;
use dovetail_reloc::symbol::LinkSymbol;

impl Selector<'_> {
    /// Loads a descriptor if all that is open is its place; otherwise selects nothing and returns false.
    pub(super) fn linked_descriptor(&mut self, args: &[Value], result: Value) -> Result<bool> {
        let (op, dwords) = match self.dword_count(self.shader.ty(result)) {
            4 => (Op::SLoadDwordx4, 4),
            8 => (Op::SLoadDwordx8, 8),
            _ => return Ok(false),
        };
        let (OperandValue::Reloc(offset), 0) = self.base_and_offset(args[1])? else { return Ok(false) };
        let Some(LinkSymbol::DescriptorOffset { set, binding, part }) = self.link_symbol(offset) else {
            return Ok(false);
        };
        let (table, root, in_root) = match self.chosen_table(args[0])? {
            Some((table, root, in_root)) => (table, Some(root), Some(in_root)),
            None => (args[0], None, None),
        };
        let (table, root) = (self.words(table)?, root.map(|root| self.words(root)).transpose()?);
        if !table.iter().chain(root.iter().flatten()).all(|word| self.is_scalar_word(*word)) {
            return Ok(false);
        }
        let mut uses = self.scalar_run(&table);
        if let Some(root) = root {
            uses.extend(self.scalar_run(&root));
        }
        let vals = self.scalars(dwords);
        let first = self.f.descriptors.len() as u32;
        let order = (set, binding, part);
        self.f.descriptors.push(LinkedDescriptor { order, offset, in_root, dwords: dwords as u8 });
        self.isa(op, &run_of(&vals), &uses, Extra::Descriptors { first, count: 1 });
        self.set_vals(result, &vals);
        Ok(true)
    }

    /// The set's table, the root table, and the symbol that decides between them, of an address that depends on it.
    fn chosen_table(&self, address: Value) -> Result<Option<(Value, Value, SymbolId)>> {
        let Some(inst) = self.shader.def(address) else { return Ok(None) };
        let (IrOp::Alu(AluOp::Select, _), &[cond, then, els]) = (&inst.op, &inst.args[..]) else { return Ok(None) };
        let chosen = chosen_by(self.bool_of(cond)?);
        let asks = |symbol| matches!(self.link_symbol(symbol), Some(LinkSymbol::UsesSpill { .. }));
        Ok(chosen.filter(|(symbol, _)| asks(*symbol)).map(|(symbol, swapped)| match swapped {
            true => (then, els, symbol),
            false => (els, then, symbol),
        }))
    }

    fn link_symbol(&self, symbol: SymbolId) -> Option<LinkSymbol> {
        self.shader.symbols.get(symbol.index()).map(|name| LinkSymbol::parse(name))
    }
}
