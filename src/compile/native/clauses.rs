//! Clauses: loads of one kind in a row, which the hardware then issues without another wave's in between (isa-gfx10 7.1).
//!
//! Runs after the waits, so that no wait is ever needed within a clause.

use super::code::{Code, Item, Merging, Open};
use dovetail_isa::instruction::{Fields, Instruction};
use dovetail_isa::{Format, Isa, Op, Traits};

/// Kinds of loads that form clauses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    Vector,
}

/// The kind of clause that an instruction may be in: none for a load that the linker may remove, because the clause would
/// be longer than what is left.
fn kind(isa: &Isa, item: &Item) -> Option<Kind> {
    if let Some(Open::Descriptor { merging: Merging::First | Merging::Next, .. }) = item.open {
        return None;
    }
    let inst = &item.inst;
    let loads = inst.entry.is(Traits::LOADS);
    match inst.fields {
        Fields::Smem(_) => loads.then_some(Kind::Scalar),
        Fields::Image(f) if f.nsa && !isa.limits.addresses_in_clauses => None,
        Fields::Buffer(_) | Fields::Image(_) => loads.then_some(Kind::Vector),
        Fields::Flat(_) => (loads && inst.entry.format != Format::Flat).then_some(Kind::Vector),
        _ => None,
    }
}

/// Puts `s_clause` in front of each run of two or more loads of one kind.
pub fn form(code: &mut Code) {
    code.rewrite(|code, n, items| {
        let mut rest = code.items_of(&code.blocks[n]);
        while let Some(head) = rest.first() {
            let kind_of_head = kind(code.isa, head);
            let run = match kind_of_head {
                Some(_) => rest
                    .iter()
                    .take(code.isa.limits.clause as usize)
                    .take_while(|item| kind(code.isa, item) == kind_of_head)
                    .count(),
                None => 1,
            };
            if let Ok(following @ 1..) = u16::try_from(run - 1) {
                items.push(Item::new(Instruction::program(code.isa, Op::SClause, following)));
            }
            let (these, others) = rest.split_at(run);
            items.extend_from_slice(these);
            rest = others;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::CodeBlock;
    use crate::mir::Term;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_base::workspace::List;
    use dovetail_ir::SymbolId;
    use dovetail_isa::Sgpr;

    fn formed(insts: &[Instruction]) -> Vec<String> {
        formed_of(insts.iter().copied().map(Item::new).collect())
    }

    fn formed_of(items: List<Item>) -> Vec<String> {
        let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
        let mut code = Code { isa: Isa::of(Gpu::Gfx1030), wave: WaveSize::W32, blocks, items };
        form(&mut code);
        assert_eq!(code.blocks[0].items, 0..code.items.len());
        code.items.iter().map(|item| item.inst.text(code.isa, WaveSize::W32)).collect()
    }

    #[test]
    fn loads_in_a_row_are_one_clause_and_others_are_not() {
        let [s0, s4] = [0, 4].map(|n| Sgpr::new(n).expect("an SGPR"));
        let load = |offset| Instruction::scalar_load(Isa::of(Gpu::Gfx1030), Op::SLoadDword, s4, s0, offset);
        let nop = Instruction::program(Isa::of(Gpu::Gfx1030), Op::SNop, 0);
        let text = formed(&[load(0), nop, load(4), load(8), nop]);
        let at: Vec<usize> = (0..text.len()).filter(|n| text[*n].starts_with("s_clause")).collect();
        assert_eq!((text.len(), at, text[2].as_str()), (6, vec![2], "s_clause 0x1"));
        let many = formed(&[load(0); 64]);
        assert_eq!((many.len(), many[0].as_str()), (65, "s_clause 0x3e"));
    }

    #[test]
    fn a_load_that_the_linker_may_merge_is_in_no_clause() {
        let [s0, s4] = [0, 4].map(|n| Sgpr::new(n).expect("an SGPR"));
        let load = Instruction::scalar_load(Isa::of(Gpu::Gfx1030), Op::SLoadDwordx4, s4, s0, 0);
        let linked = |merging| Item {
            open: Some(Open::Descriptor { offset: SymbolId(0), in_root: None, merging }),
            ..Item::new(load)
        };
        let clauses = |items: [Item; 3]| {
            let text = formed_of(items.to_vec().into());
            text.iter().filter(|text| text.starts_with("s_clause")).cloned().collect::<Vec<_>>()
        };
        use Merging::{Alone, First, Next};
        let plain = Item::new(load);
        assert_eq!(clauses([linked(Alone), linked(Alone), plain]), ["s_clause 0x2"]);
        assert_eq!(clauses([linked(First), linked(Next), plain]), [""; 0]);
        assert_eq!(clauses([linked(First), linked(Next), linked(Next)]), [""; 0]);
        assert_eq!(clauses([plain, plain, linked(First)]), ["s_clause 0x1"]);
    }
}
