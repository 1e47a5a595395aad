//! Registers at the start of the code: where the hardware, or a prolog, puts the entry arguments.
//!
//! Scalar arguments are in SGPRs from s0 up, dword by dword; vector arguments in VGPRs from v0 up. A fragment shader's
//! n-th vector argument is pixel input n, and the hardware loads only those that are enabled, without gaps (pal-abi 2.4).

use super::mir::{Class, EntryValue, Function, PhysReg, Val};
use crate::error::{Error, Result};
use crate::ir::{EntryArg, LowerInfo, RegClass, Shader, Terminator, Type, Value};
use crate::target::Stage;

/// Pixel inputs that are pairs of coordinates: one has to be enabled, or the hardware hangs.
const COORDINATES: u16 = 0x7f;
/// Those that are perspective-correct: position W needs one.
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

/// Which arguments any reachable instruction uses.
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
    pub fn enter(&self, function: &mut Function, args: &[EntryArg], used: &[bool]) -> Vec<Vec<Val>> {
        function.pixel_inputs = self.pixel_inputs;
        let mut vals = Vec::with_capacity(args.len());
        for ((arg, place), used) in args.iter().zip(&self.args).zip(used) {
            let class = match arg.class {
                RegClass::Sgpr => Class::Scalar,
                RegClass::Vgpr => Class::Vector,
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
