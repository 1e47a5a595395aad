//! Registers at the start of the code: where the hardware, or a prolog, puts the entry arguments.
//!
//! Scalar arguments are in SGPRs from s0 up, dword by dword; vector arguments in VGPRs from v0 up. A fragment shader's
//! n-th vector argument is pixel input n, and the hardware loads only those that are enabled, without gaps (pal-abi 2.4).

use super::mir::{EntryValue, MachineFunction, PhysReg, RegisterClass, Val};
use crate::error::{Error, Result};
use crate::ir::{EntryArg, LowerInfo, RegClass, Shader, Terminator, Type, Value};
use crate::target::Stage;

/// Pixel inputs that are pairs of coordinates: one has to be enabled, or the hardware hangs.
const COORDINATES: u16 = 0x7f;
/// The interpolations that are perspective-correct: position W needs one.
const PERSPECTIVE: u16 = 0xf;
const POSITION_W: u16 = 1 << 11;
/// VGPRs of the first input, which is enabled if none is that may stand alone.
const FIRST_INPUT: u16 = 2;

/// Where the entry arguments are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryLayout {
    /// First register of each of [`LowerInfo::args`], the rest in the following ones; `None`: it is not loaded.
    pub args: Vec<Option<PhysReg>>,
    /// Fragment: inputs that the hardware loads, as bits of SPI_PS_INPUT_ENA.
    pub pixel_inputs: u16,
    /// SGPRs that are loaded. If the stage has scratch memory, the wave's offset in it is in the next one.
    pub sgprs: u16,
    /// VGPRs that are loaded.
    pub vgprs: u16,
}

/// The lower-level facts of a shader.
///
/// # Errors
/// A bug: it has none, or another number of arguments than its entry block has parameters.
pub(super) fn lower_info(shader: &Shader) -> Result<&LowerInfo> {
    let info = shader.lower.as_ref().ok_or_else(|| Error::bug("an upper-level shader in the code generator"))?;
    let params = shader.block(Shader::ENTRY).params.len();
    if info.args.len() != params {
        return Err(Error::bug(format!("{} entry arguments for {params} parameters", info.args.len())));
    }
    Ok(info)
}

/// Whether any reachable instruction uses the argument, by its number.
pub fn used_args(shader: &Shader) -> Vec<bool> {
    let mut seen = vec![false; shader.values.len()];
    let mut mark = |v: Value| {
        if let Some(seen) = seen.get_mut(v.index()) {
            *seen = true;
        }
    };
    let cfg = shader.cfg();
    for &id in &cfg.order {
        let block = shader.block(id);
        for inst in &block.insts {
            shader.inst(*inst).args.iter().for_each(|v| mark(*v));
        }
        let Some(term) = &block.term else { continue };
        match term {
            Terminator::Branch { cond: value, .. } | Terminator::Switch { value, .. } => mark(*value),
            Terminator::Return(values) => values.iter().for_each(|v| mark(*v)),
            Terminator::Jump(_) | Terminator::Unreachable => {}
        }
        term.calls().flat_map(|call| &call.args).for_each(|v| mark(*v));
    }
    shader.block(Shader::ENTRY).params.iter().map(|v| seen.get(v.index()).copied().unwrap_or(false)).collect()
}

/// Registers of a value: one for each dword.
fn registers(ty: Type) -> u16 {
    // At most 16 lanes of 64 bits.
    ty.total_bits().div_ceil(32) as u16
}

impl EntryLayout {
    /// The layout, given which arguments the code uses. Only fragment shaders have a choice.
    ///
    /// # Errors
    /// A bug: more arguments than registers or pixel inputs.
    pub fn new(stage: Stage, args: &[EntryArg], used: &[bool]) -> Result<Self> {
        let mut out = Self::default();
        if stage == Stage::Fragment {
            out.enable_inputs(args, used)?;
        }
        let mut input = 0;
        for arg in args {
            let count = registers(arg.ty);
            let place = match arg.class {
                RegClass::Sgpr => Some(PhysReg::sgpr(out.take_sgprs(count))),
                RegClass::Vgpr => {
                    let loaded = stage != Stage::Fragment || out.pixel_inputs >> input & 1 == 1;
                    input += 1;
                    loaded.then(|| PhysReg::vgpr(out.take_vgprs(count)))
                }
            };
            out.args.push(place);
        }
        if out.sgprs > PhysReg::VCC.0 || out.vgprs > 256 {
            return Err(Error::bug(format!("{} SGPRs and {} VGPRs at entry", out.sgprs, out.vgprs)));
        }
        Ok(out)
    }

    fn enable_inputs(&mut self, args: &[EntryArg], used: &[bool]) -> Result<()> {
        let vector = args.iter().zip(used).filter(|(arg, _)| arg.class == RegClass::Vgpr);
        for (input, (_, used)) in vector.enumerate() {
            if input >= 16 {
                return Err(Error::bug("more than 16 pixel inputs"));
            }
            self.pixel_inputs |= u16::from(*used) << input;
        }
        let inputs = self.pixel_inputs;
        if inputs & COORDINATES == 0 || inputs & PERSPECTIVE == 0 && inputs & POSITION_W != 0 {
            self.pixel_inputs |= 1;
        }
        // Input 0 is in front of all others even where no argument stands for it.
        if self.pixel_inputs & 1 == 1 && !args.iter().any(|arg| arg.class == RegClass::Vgpr) {
            self.take_vgprs(FIRST_INPUT);
        }
        Ok(())
    }

    fn take_sgprs(&mut self, count: u16) -> u16 {
        self.sgprs += count;
        self.sgprs - count
    }

    fn take_vgprs(&mut self, count: u16) -> u16 {
        self.vgprs += count;
        self.vgprs - count
    }

    /// Gives a function these entry registers. Returns the values of each argument, one for each register; none for an
    /// argument that is not used.
    pub fn enter(&self, function: &mut MachineFunction, args: &[EntryArg], used: &[bool]) -> Vec<Vec<Val>> {
        function.pixel_inputs = self.pixel_inputs;
        let mut vals = Vec::with_capacity(args.len());
        for ((arg, place), used) in args.iter().zip(&self.args).zip(used) {
            let class = match arg.class {
                RegClass::Sgpr => RegisterClass::Scalar,
                RegClass::Vgpr => RegisterClass::Vector,
            };
            let mut list = Vec::new();
            for (n, first) in (0..registers(arg.ty)).zip(std::iter::repeat(*place)) {
                let Some(first) = first else { continue };
                let val = used.then(|| function.value(class));
                function.entry.push(EntryValue { val, reg: first.nth(n) });
                list.extend(val);
            }
            vals.push(list);
        }
        vals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ArgRole;

    fn arg(class: RegClass, dwords: u16) -> EntryArg {
        let ty = match dwords {
            1 => Type::B32,
            _ => Type::vector(crate::ir::Bits::B32, dwords.into()).expect("a type"),
        };
        EntryArg { class, ty, role: ArgRole::System("test") }
    }

    /// Two scalars and all pixel inputs, in the sizes that the hardware has.
    fn pixel() -> Vec<EntryArg> {
        let inputs = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1].map(|n| arg(RegClass::Vgpr, n));
        [arg(RegClass::Sgpr, 1), arg(RegClass::Sgpr, 1)].into_iter().chain(inputs).collect()
    }

    fn layout(inputs: &[usize]) -> EntryLayout {
        let args = pixel();
        let used: Vec<bool> = (0..args.len()).map(|n| n >= 2 && inputs.contains(&(n - 2))).collect();
        EntryLayout::new(Stage::Fragment, &args, &used).expect("a layout")
    }

    #[test]
    fn pixel_inputs_are_those_in_use_and_what_the_hardware_demands() {
        // As LLVM enables them (its own rule for PAL).
        for (inputs, bits) in [(&[][..], 1), (&[8, 9, 12], 0x1301), (&[11], 0x801), (&[1], 2), (&[5, 11], 0x821)] {
            assert_eq!(layout(inputs).pixel_inputs, bits, "{inputs:?}");
        }
        let positions = layout(&[8, 9, 12]);
        assert_eq!((positions.sgprs, positions.vgprs), (2, 5));
        let at = |n: usize| positions.args[n + 2];
        assert_eq!([0, 1, 8, 9, 12].map(at), [0, 9, 2, 3, 4].map(|n| (n != 9).then(|| PhysReg::vgpr(n))));
    }

    #[test]
    fn values_are_made_for_what_is_used() {
        let args = [arg(RegClass::Sgpr, 1), arg(RegClass::Sgpr, 2), arg(RegClass::Vgpr, 1), arg(RegClass::Vgpr, 2)];
        let used = [false, true, false, true];
        let layout = EntryLayout::new(Stage::Vertex, &args, &used).expect("a layout");
        let mut function =
            MachineFunction::new(crate::target::GfxIp::Gfx1030, Stage::Vertex, crate::target::WaveSize::W32);
        let vals = layout.enter(&mut function, &args, &used);
        assert_eq!(vals.iter().map(Vec::len).collect::<Vec<_>>(), [0, 2, 0, 2]);
        let regs: Vec<String> = function.entry.iter().map(|e| format!("{}{}", e.reg, e.val.is_some())).collect();
        assert_eq!(regs, ["s0false", "s1true", "s2true", "v0false", "v1true", "v2true"]);
    }
}
