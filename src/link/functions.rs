//! Functions of a part besides its body, which code of the part calls: each is a part of the stage's code of its own, after
//! those that run one after the other. A call is a relocation between two of them ([`super::calls`]).

use super::places::{DWORD, MAX_SECTION};
use dovetail_base::elf::{Elf, Home, Symbol, stt};
use dovetail_base::error::{Error, Result};
use dovetail_base::fallible;
use dovetail_reloc::kind::{Calculation, RelocKind};

/// A function of an object: 0 is the body, the others are in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId(pub usize);

impl FunctionId {
    pub(super) const BODY: Self = Self(0);
}

/// A function besides the body.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub symbol: String,
    pub code: Vec<u8>,
}

/// A place in the code with the address of a function, or its distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// The function that the place is in.
    pub from: FunctionId,
    /// Offset in its code, in bytes.
    pub offset: u32,
    pub kind: RelocKind,
    /// The function that it refers to.
    pub to: FunctionId,
}

impl Call {
    /// Whether a link can resolve relocations of this kind against code: only distances do not depend on where the loader puts
    /// the code.
    pub(super) fn is_relative(kind: RelocKind) -> bool {
        match kind.calculation() {
            Calculation::Relative | Calculation::Branch => true,
            Calculation::Absolute
            | Calculation::Offset
            | Calculation::Choice
            | Calculation::Table
            | Calculation::Nothing => false,
        }
    }
}

/// Where a function is in `.text`, in bytes.
#[derive(Clone, Copy)]
struct Extent {
    start: u32,
    end: u32,
}

/// Where the functions of an unlinked ELF are in `.text`, the body first.
#[derive(Default)]
pub(super) struct Extents(Vec<Extent>);

impl Extents {
    /// Only a body of this size.
    pub(super) fn of_body(size: u32) -> Self {
        Self(vec![Extent { start: 0, end: size }])
    }

    /// The end of the body.
    pub(super) fn body_end(&self) -> u32 {
        self.0.first().map_or(0, |body| body.end)
    }

    /// The end of the last function.
    pub(super) fn end(&self) -> u32 {
        self.0.last().map_or(0, |last| last.end)
    }

    /// Reads the functions after the body, and after the branch to the next part.
    ///
    /// # Errors
    /// Malformed: functions that overlap, leave the section or are not whole dwords.
    pub(super) fn read(&mut self, elf: &Elf<'_>, text: u32) -> Result<Vec<Function>> {
        let bytes = elf.at(text).map_or(&[][..], |text| text.data);
        let in_text = |s: &&Symbol<'_>| s.home == Home::Section(text) && s.kind == stt::FUNC;
        let mut functions = Vec::new();
        for symbol in elf.symbols.iter().filter(in_text).skip(1) {
            let last = symbol.value.checked_add(symbol.size).and_then(|last| u32::try_from(last).ok());
            let extent = u32::try_from(symbol.value).ok().zip(last).map(|(start, end)| Extent { start, end });
            // In the order of the file, so that no two are of the same code.
            let whole = |e: &Extent| e.start.is_multiple_of(DWORD) && e.end.is_multiple_of(DWORD);
            let extent = extent.filter(|e| self.end() <= e.start && e.start < e.end && whole(e));
            let code = extent.and_then(|e| Some((e, bytes.get(e.start as usize..e.end as usize)?)));
            let Some((extent, code)) = code.filter(|(_, code)| code.len() <= MAX_SECTION) else {
                let (name, at, size) = (symbol.name, symbol.value, symbol.size);
                return Err(Error::malformed(format!("function `{name}` at {at:#x} with {size:#x} bytes")));
            };
            self.0.push(extent);
            functions.push(Function { symbol: symbol.name.to_owned(), code: fallible::copy(code)? });
        }
        Ok(functions)
    }

    /// The function that has these bytes of `.text`, and their offset in its code.
    pub(super) fn at(&self, offset: u32, bytes: u32) -> Option<(FunctionId, u32)> {
        let inside = |e: &Extent| e.start <= offset && offset.checked_add(bytes).is_some_and(|end| end <= e.end);
        let number = self.0.iter().position(inside)?;
        Some((FunctionId(number), offset - self.0.get(number)?.start))
    }

    /// The call that a relocation in the code is, if its symbol is one of the code.
    ///
    /// # Errors
    /// Unsupported: an address of code, or of code that is no function.
    pub(super) fn call(
        &self,
        text: u32,
        symbol: &Symbol<'_>,
        (from, offset): (FunctionId, u32),
        kind: RelocKind,
    ) -> Result<Option<Call>> {
        if symbol.home != Home::Section(text) {
            return Ok(None);
        }
        let to = self.0.iter().position(|e| symbol.kind == stt::FUNC && u64::from(e.start) == symbol.value);
        match to {
            Some(to) if Call::is_relative(kind) => Ok(Some(Call { from, offset, kind, to: FunctionId(to) })),
            Some(_) => Err(Error::unsupported(format!("{kind} against code"), symbol.name)),
            None => Err(Error::unsupported("relocation against code that is no function", symbol.name)),
        }
    }
}
