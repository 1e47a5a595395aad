//! Improves code after allocation: shorter forms of instructions, fewer branches and masks, two instructions in one.

mod branches;
mod dual;
mod forms;

use super::code::Code;

/// Improves the code.
pub fn run(code: &mut Code) {
    let isa = code.isa;
    for item in code.items.iter_mut().filter(|item| item.open.is_none()) {
        if let Some(shorter) = forms::shorter(isa, &item.inst) {
            item.inst = shorter;
        }
    }
    branches::read_by_nobody(code);
    branches::on_vcc(code);
    branches::empty_rests(code);
    branches::empty_sides(code);
    branches::run_through(code);
    dual::pair(code);
}
