//! One decoded instruction of a module, with its position for messages.

use dovetail_base::error::{Error, Result};
use rspirv::dr::Operand;
use spirv::Op;

/// The detail of the error for an opcode that is not translated at all.
pub const NOT_TRANSLATED: &str = "not translated";

/// A decoded instruction and its location in the file.
#[derive(Clone, Copy, Debug)]
pub struct SpirvInst<'m> {
    /// Opcode.
    pub op: Op,
    /// Result type id.
    pub result_type: Option<u32>,
    /// Result id.
    pub result_id: Option<u32>,
    /// Operands without result type and result.
    pub operands: &'m [Operand],
    /// Word offset in the file.
    pub word: u32,
}

impl<'m> SpirvInst<'m> {
    /// Its opcode.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Result id.
    ///
    /// # Errors
    /// Malformed: it has none.
    pub fn result(&self) -> Result<u32> {
        self.result_id.ok_or_else(|| self.malformed("no result id"))
    }

    /// Result type id.
    ///
    /// # Errors
    /// Malformed: it has none.
    pub fn result_type(&self) -> Result<u32> {
        self.result_type.ok_or_else(|| self.malformed("no result type"))
    }

    /// Number of operands, without result type and result.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// Operand `n` as an id.
    ///
    /// # Errors
    /// Malformed: absent, or not an id.
    pub fn id(&self, n: usize) -> Result<u32> {
        match self.operands.get(n) {
            Some(Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id)) => Ok(*id),
            _ => Err(self.malformed(format!("operand {n} is not an id"))),
        }
    }

    /// Operand `n` as an id; `None` if it is absent.
    ///
    /// # Errors
    /// Malformed: present, but not an id.
    pub fn opt_id(&self, n: usize) -> Result<Option<u32>> {
        if n < self.len() { self.id(n).map(Some) } else { Ok(None) }
    }

    /// All operands from `n` on as ids; malformed if one is not.
    pub fn ids_from(&self, n: usize) -> impl Iterator<Item = Result<u32>> {
        (n..self.len()).map(|i| self.id(i))
    }

    /// Operand `n` as a literal number.
    ///
    /// # Errors
    /// Malformed: absent, or not a literal.
    pub fn literal(&self, n: usize) -> Result<u32> {
        match self.operands.get(n) {
            Some(Operand::LiteralBit32(x) | Operand::LiteralExtInstInteger(x)) => Ok(*x),
            _ => Err(self.malformed(format!("operand {n} is not a literal"))),
        }
    }

    /// Operand `n` as decoded.
    ///
    /// # Errors
    /// Malformed: absent.
    pub fn operand(&self, n: usize) -> Result<&'m Operand> {
        self.operands.get(n).ok_or_else(|| self.malformed(format!("operand {n} is missing")))
    }

    /// A malformed input at this instruction.
    pub fn malformed(&self, what: impl Into<String>) -> Error {
        Error::malformed(what).at(self.place())
    }

    /// An unsupported feature, named by this opcode.
    pub fn unsupported(&self, detail: impl Into<String>) -> Error {
        Error::unsupported(format!("Op{:?}", self.op()), detail).at(self.place())
    }

    /// The error for an opcode that is not translated, whatever its operands.
    pub fn not_translated(&self) -> Error {
        self.unsupported(NOT_TRANSLATED)
    }

    /// Location for error trails.
    pub fn place(&self) -> String {
        format!("word {} (Op{:?})", self.word, self.op())
    }
}
