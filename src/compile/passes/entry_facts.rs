//! Facts about the start of a stage that follow from its lowered shader, whichever generator is used (pal-abi 2.4, 6.2).
//!
//! | determined here | left to code generation |
//! | --- | --- |
//! | registers of the entry arguments, and which of them are used | arguments that become unused by optimisation |
//! | SPI_PS_INPUT_ENA, SPI_PS_INPUT_ADDR | likewise: a generator may load fewer inputs |
//! | FLOAT_MODE, other modes, wave size, LDS_SIZE | |
//! | scratch: the register of the wave's offset | its size including spills: SCRATCH_EN |
//! | | VGPRS, SGPRS |
//!
//! Hardware fills SGPRs from s0 and VGPRs from v0 up, in the order of [`LowerInfo::args`]. A fragment shader loads only the
//! pixel inputs that it uses, without gaps. The native generator uses these facts directly; in debug builds and tests LLVM's
//! register words are checked against them.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{EntryArg, LowerInfo, RegClass, Shader, ShaderLevel, Type, Value};
use dovetail_metadata::registers::{
    HardwareRegister, RegisterWords, SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA, StageRegisters, compute_pgm_rsrc1,
    compute_pgm_rsrc2, rsrc1_gs, rsrc1_ps, rsrc1_vs, rsrc2_gs, rsrc2_ps, rsrc2_vs,
};

/// Pixel inputs that are coordinate pairs: at least one must be enabled, or the hardware hangs.
const COORDINATES: u16 = 0x7f;
/// The interpolations that are perspective-correct: position W needs one.
const PERSPECTIVE: u16 = 0xf;
const POSITION_W: u16 = 1 << 11;
/// The input that is enabled if no coordinate pair is, and its number of VGPRs.
const FIRST_INPUT: (u16, u16) = (1, 2);
/// FLOAT_MODE: denormal inputs and results are kept; for 32-bit floats, and for 16 and 64-bit floats.
const KEEP_DENORMALS: [u32; 2] = [3 << 4, 3 << 6];

/// The start of a stage.
#[derive(Clone, Debug)]
pub struct EntryFacts {
    /// First register of each of [`LowerInfo::args`]; the others follow it. `None`: it is not loaded.
    pub args: List<Option<u16>>,
    /// By argument: whether any reachable instruction uses it.
    pub used: List<bool>,
    /// Fragment: inputs that the hardware loads, as bits of SPI_PS_INPUT_ENA.
    pub pixel_inputs: u16,
    /// SGPRs that are loaded. If the stage has scratch memory, the wave's offset in it is in the next one.
    pub sgprs: u16,
    /// VGPRs that are loaded.
    pub vgprs: u16,
    gpu: Gpu,
    stage: Stage,
    wave: WaveSize,
    float_mode: u32,
    lds_bytes: u32,
}

/// The lower-level facts of a shader.
///
/// # Errors
/// Bug: it has none, or the number of arguments differs from the entry block's parameters.
pub fn lower_info(shader: &Shader) -> Result<&LowerInfo> {
    let info = shader.lower.as_ref().filter(|_| shader.level == ShaderLevel::Lower);
    let info = info.ok_or_else(|| Error::bug("an upper-level shader in the code generator"))?;
    let params = shader.block(Shader::ENTRY).params.len();
    if info.args.len() != params {
        return Err(Error::bug(format!("{} entry arguments for {params} parameters", info.args.len())));
    }
    Ok(info)
}

/// Registers of a value: one for each dword.
pub fn registers(ty: Type) -> u16 {
    // At most 16 lanes of 64 bits.
    ty.total_bits().div_ceil(32) as u16
}

impl EntryFacts {
    /// The start of a lowered shader.
    ///
    /// # Errors
    /// Bug: more arguments than registers or pixel inputs.
    pub fn of(shader: &Shader, gpu: Gpu) -> Result<Self> {
        let info = lower_info(shader)?;
        let kept = shader.modes.keeps_denormals().into_iter().zip(KEEP_DENORMALS);
        let mut out = Self {
            args: List::default(),
            used: used_args(shader),
            pixel_inputs: 0,
            sgprs: 0,
            vgprs: 0,
            gpu,
            stage: shader.stage,
            wave: info.wave,
            float_mode: kept.filter(|(keep, _)| *keep).fold(0, |mode, (_, bits)| mode | bits),
            lds_bytes: shader.shared_bytes,
        };
        out.place(&info.args)?;
        Ok(out)
    }

    fn place(&mut self, args: &[EntryArg]) -> Result<()> {
        if self.stage.shades_pixels() {
            self.enable_inputs(args)?;
        }
        let mut input = 0;
        for arg in args {
            let count = registers(arg.ty);
            let place = match arg.class {
                RegClass::Sgpr => Some(take(&mut self.sgprs, count)),
                RegClass::Vgpr => {
                    let loaded = !self.stage.shades_pixels() || self.pixel_inputs >> input & 1 == 1;
                    input += 1;
                    loaded.then(|| take(&mut self.vgprs, count))
                }
            };
            self.args.push(place);
        }
        let most = self.gpu.facts();
        if u32::from(self.sgprs) > most.sgprs || u32::from(self.vgprs) > most.vgprs {
            return Err(Error::bug(format!("{} SGPRs and {} VGPRs at entry", self.sgprs, self.vgprs)));
        }
        Ok(())
    }

    fn enable_inputs(&mut self, args: &[EntryArg]) -> Result<()> {
        let vector = args.iter().zip(&self.used).filter(|(arg, _)| arg.class == RegClass::Vgpr);
        for (input, (_, used)) in vector.enumerate() {
            if input >= 16 {
                return Err(Error::bug("more than 16 pixel inputs"));
            }
            self.pixel_inputs |= u16::from(*used) << input;
        }
        let (first, vgprs) = FIRST_INPUT;
        let inputs = self.pixel_inputs;
        if inputs & COORDINATES == 0 || inputs & PERSPECTIVE == 0 && inputs & POSITION_W != 0 {
            self.pixel_inputs |= first;
        }
        // It precedes all others even if no argument stands for it.
        if self.pixel_inputs & first != 0 && !args.iter().any(|arg| arg.class == RegClass::Vgpr) {
            take(&mut self.vgprs, vgprs);
        }
        Ok(())
    }

    /// The register words, with 0 in the fields that code generation decides. What the link decides (user data, inputs of the
    /// pipeline) is not set. Words with all bits 0 are set only where the link must find them.
    ///
    /// # Errors
    /// Bug: a value does not fit its field.
    pub fn words(&self, options: &TuningOptions) -> Result<RegisterWords> {
        let mut out = RegisterWords::new(self.gpu.family());
        let own = StageRegisters::of(self.gpu.hardware_stage(self.stage))?;
        out.set_field(own.float_mode, self.float_mode)?;
        out.set_field(own.scratch_en, 0)?;
        if self.wave == WaveSize::W32 {
            out.set_field(own.wave32, 1)?;
        }
        let lds = self.lds_bytes.div_ceil(self.gpu.facts().lds_unit);
        match self.stage {
            Stage::Vertex => {
                let primitives = self.gpu.hardware_stage(self.stage).runs_primitives();
                let (clamp, ordered, user) = match primitives {
                    true => (rsrc1_gs::DX10_CLAMP, rsrc1_gs::MEM_ORDERED, rsrc2_gs::USER_SGPR),
                    false => (rsrc1_vs::DX10_CLAMP, rsrc1_vs::MEM_ORDERED, rsrc2_vs::USER_SGPR),
                };
                out.set_known_field(clamp, 1)?;
                out.set_field(ordered, 1)?;
                out.set_field(user, 0)?;
            }
            Stage::Fragment => {
                out.set_known_field(rsrc1_ps::DX10_CLAMP, 1)?;
                out.set_field(rsrc1_ps::MEM_ORDERED, 1)?;
                out.set_field(rsrc2_ps::EXTRA_LDS_SIZE, lds)?;
                out.set(SPI_PS_INPUT_ENA, self.pixel_inputs.into())?;
                out.set(SPI_PS_INPUT_ADDR, self.pixel_inputs.into())?;
            }
            Stage::Compute => {
                out.set_known_field(compute_pgm_rsrc1::DX10_CLAMP, 1)?;
                out.set_field(compute_pgm_rsrc1::MEM_ORDERED, 1)?;
                out.set_field(compute_pgm_rsrc1::WGP_MODE, u32::from(!options.cu_mode))?;
                out.set_field(compute_pgm_rsrc2::LDS_SIZE, lds)?;
            }
        }
        Ok(out)
    }

    /// Checks a generator's register words against these facts.
    ///
    /// # Errors
    /// Bug: a word differs in bits that code generation does not decide.
    pub fn agree(&self, options: &TuningOptions, made: &RegisterWords) -> Result<()> {
        let own = StageRegisters::of(self.gpu.hardware_stage(self.stage))?;
        let mut wanted = self.words(options)?;
        for field in [own.vgprs, own.sgprs, own.scratch_en] {
            wanted.set_field(field, made.field(field))?;
        }
        // Except memory and inputs that optimisation finds unused.
        let lds = match self.stage {
            Stage::Vertex => None,
            Stage::Fragment => Some(rsrc2_ps::EXTRA_LDS_SIZE),
            Stage::Compute => Some(compute_pgm_rsrc2::LDS_SIZE),
        };
        if let Some(field) = lds.filter(|field| made.field(*field) < wanted.field(*field)) {
            wanted.set_field(field, made.field(field))?;
        }
        let agrees = |(register, word): &(HardwareRegister, u32)| match made.get(*register) {
            Some(given) if [SPI_PS_INPUT_ENA, SPI_PS_INPUT_ADDR].contains(register) => {
                given & !(word | u32::from(FIRST_INPUT.0)) == 0
            }
            given => given == Some(*word),
        };
        match wanted.iter().find(|word| !agrees(word)) {
            Some((register, word)) => {
                let given = made.get(register);
                Err(Error::bug(format!("{} is {given:x?}, the shader says {word:#x}", register.name())))
            }
            None => Ok(()),
        }
    }
}

fn take(next: &mut u16, count: u16) -> u16 {
    *next += count;
    *next - count
}

/// Whether any reachable instruction uses the argument, by its number.
fn used_args(shader: &Shader) -> List<bool> {
    let mut seen = filled(shader.values.len(), false);
    let mut mark = |v: Value| {
        if let Some(seen) = seen.get_mut(v.index()) {
            *seen = true;
        }
    };
    let cfg = shader.cfg();
    for &id in cfg.order.iter() {
        let block = shader.block(id);
        for inst in &block.insts {
            shader.inst(*inst).args.iter().for_each(|v| mark(*v));
        }
        block.end.values().iter().for_each(|v| mark(*v));
    }
    shader.block(Shader::ENTRY).params.iter().map(|v| seen.get(v.index()).copied().unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use crate::entry_facts::*;
    use dovetail_ir::{ArgRole, Bits, Terminator};
    use std::array::from_fn;

    fn facts(stage: Stage, args: &[(RegClass, u32)], used: &[bool]) -> EntryFacts {
        let mut shader = Shader::new("main", stage);
        shader.level = ShaderLevel::Lower;
        let (mut list, mut results) = (List::default(), Vec::new());
        for ((class, dwords), used) in args.iter().zip(used) {
            let ty = Type::vector(Bits::B32, *dwords).unwrap_or(Type::B32);
            list.push(EntryArg { class: *class, ty, role: ArgRole::System("test") });
            results.extend(Some(shader.add_param(Shader::ENTRY, ty)).filter(|_| *used));
        }
        shader.block_mut(Shader::ENTRY).end.set(Terminator::Return(&results));
        shader.lower = Some(LowerInfo {
            wave: WaveSize::W32,
            args: list,
            returns: List::default(),
            epilog: true,
            symbol: "main".into(),
            color_export: false,
            depth_export: false,
        });
        EntryFacts::of(&shader, Gpu::Gfx1030).expect("facts")
    }

    /// Two scalars and all pixel inputs, in the sizes that the hardware has.
    fn pixel(inputs: &[usize]) -> EntryFacts {
        let sizes = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        let scalars = [(RegClass::Sgpr, 1); 2];
        let args: Vec<_> = scalars.into_iter().chain(sizes.map(|n| (RegClass::Vgpr, n))).collect();
        let used: [bool; 18] = from_fn(|n| n >= 2 && inputs.contains(&(n - 2)));
        facts(Stage::Fragment, &args, &used)
    }

    #[test]
    fn pixel_inputs_are_those_in_use_and_what_the_hardware_demands() {
        // As LLVM enables them (its own rule for PAL).
        for (inputs, bits) in [(&[][..], 1), (&[8, 9, 12], 0x1301), (&[11], 0x801), (&[1], 2), (&[5, 11], 0x821)] {
            assert_eq!(pixel(inputs).pixel_inputs, bits, "{inputs:?}");
        }
        let positions = pixel(&[8, 9, 12]);
        assert_eq!((positions.sgprs, positions.vgprs), (2, 5));
        let at = |n: usize| positions.args[n + 2];
        assert_eq!([0, 1, 8, 9, 12].map(at), [Some(0), None, Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn words_of_others_may_say_less_and_nothing_else() {
        let facts = pixel(&[1, 8]);
        let options = TuningOptions::default();
        let words = facts.words(&options).expect("words");
        facts.agree(&options, &words).expect("its own words");
        let mut less = words;
        less.set(SPI_PS_INPUT_ENA, 1).expect("a register");
        less.set(SPI_PS_INPUT_ADDR, 1).expect("a register");
        less.set_field(rsrc1_ps::VGPRS, 3).expect("a field");
        facts.agree(&options, &less).expect("fewer inputs");
        let mut more = words;
        more.set(SPI_PS_INPUT_ENA, 0x106).expect("a register");
        facts.agree(&options, &more).expect_err("another input");
        let mut mode = words;
        mode.set_field(rsrc1_ps::FLOAT_MODE, 0).expect("a field");
        facts.agree(&options, &mode).expect_err("another mode");
    }
}
