//! Tests the emulator against known results and plain Rust: small programs assembled by `llvm-mc`, with registers set
//! before and read after.

mod coverage;
mod image;
mod interp;
mod lanes;
mod memory;
mod scalar;
mod vector;
mod waits;

use super::*;
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_isa::{Isa, Scalar, Sgpr, Vgpr};

/// Round to nearest, f32 denormals flushed, others kept, `DX10_CLAMP`: the initial mode of shaders.
pub const SHADER: Mode = Mode(0x1c0);
/// [`SHADER`] with all denormals kept.
pub const KEEP: Mode = Mode(0x1f0);

/// The assembler's bytes of a program; `None` if the tool is missing.
pub fn assemble(test: &str, size: WaveSize, text: &str) -> Option<Vec<u8>> {
    assemble_for(test, Gpu::Gfx1030, "llvm-mc-19", size, text)
}

fn assemble_for(test: &str, gpu: Gpu, tool: &'static str, size: WaveSize, text: &str) -> Option<Vec<u8>> {
    let attributes = format!("-mattr=+wavefrontsize{}", size.lanes());
    let args = ["-arch=amdgcn", &format!("-mcpu={gpu}"), &attributes, "-show-encoding"];
    let output = dovetail_testing::tool(test, tool)?.run(&args, text.as_bytes());
    let output = String::from_utf8(output).expect("text");
    Some(encoded(&output))
}

/// The bytes of every instruction that the assembler shows.
fn encoded(output: &str) -> Vec<u8> {
    let encodings = output.lines().filter_map(|line| line.split("encoding: [").nth(1)?.split(']').next());
    let byte = |text: &str| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).expect("a byte");
    encodings.flat_map(|line| line.split(',').map(byte).collect::<Vec<_>>()).collect()
}

/// A program of one wave, and its initial state.
pub struct Test {
    pub machine: Machine,
    pub wave: Wave,
    pub stats: RunStats,
}

impl Test {
    /// Assembles `text`, with `s_endpgm` appended.
    pub fn new(name: &str, size: WaveSize, text: &str) -> Option<Self> {
        Some(Self::of(&assemble(name, size, &format!("{text}\ns_endpgm\n"))?, size))
    }

    /// The same on gfx1100.
    pub fn on_gfx11(name: &str, size: WaveSize, text: &str) -> Option<Self> {
        let code = assemble_for(name, Gpu::Gfx1100, "llvm-mc-22", size, &format!("{text}\ns_endpgm\n"))?;
        Some(Self::on(Gpu::Gfx1100, &code, size))
    }

    /// A test of machine code.
    pub fn of(code: &[u8], size: WaveSize) -> Self {
        Self::on(Gpu::Gfx1030, code, size)
    }

    fn on(gpu: Gpu, code: &[u8], size: WaveSize) -> Self {
        let mut machine = Machine::new(gpu);
        let pc = machine.load_code(code).expect("room");
        let all = if size == WaveSize::W32 { u64::from(u32::MAX) } else { u64::MAX };
        let mut wave = Wave::new(Isa::of(gpu), size, pc, SHADER, all);
        for v in 0..=255 {
            (0..64).for_each(|lane| wave.set_vgpr(Vgpr(v), 0, lane, 0));
        }
        Self { machine, wave, stats: RunStats::default() }
    }

    /// Sets a scalar register.
    pub fn s(&mut self, n: u8, value: u32) {
        self.wave.set_scalar(sgpr(n), value);
    }

    /// Sets a vector register of each lane.
    pub fn v(&mut self, n: u8, value: impl Fn(usize) -> u32) {
        (0..64).for_each(|lane| self.wave.set_vgpr(Vgpr(n), 0, lane, value(lane)));
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.try_run().expect("runs");
    }

    /// Runs until the end or an error.
    pub fn try_run(&mut self) -> dovetail_base::error::Result<()> {
        let waves = std::slice::from_mut(&mut self.wave);
        self.machine.run_group(
            waves,
            1024,
            RunLimits { instructions: 100_000, ..RunLimits::default() },
            &mut self.stats,
        )
    }

    /// A scalar register.
    pub fn sgpr(&self, n: u8) -> u32 {
        self.wave.scalar(sgpr(n))
    }

    /// A vector register of a lane.
    pub fn vgpr(&self, n: u8, lane: usize) -> u32 {
        self.wave.vgpr(Vgpr(n), 0, lane)
    }

    /// A vector register of all lanes.
    pub fn row(&self, n: u8) -> Vec<u32> {
        (0..self.wave.lanes()).map(|lane| self.vgpr(n, lane)).collect()
    }
}

fn sgpr(n: u8) -> Scalar {
    Sgpr::new(n).map_or(Scalar::Null, Scalar::Sgpr)
}

/// Pseudo-random numbers, and the edge values of every format.
pub fn numbers(seed: u32) -> impl Iterator<Item = u32> {
    const EDGES: [u32; 20] = [
        0,
        1,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x0040_0000,
        0x7f7f_ffff,
        0x4f00_0000,
        0x3c00_7bff,
    ];
    let mut state = seed | 1;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mixed = state ^ state >> 15;
        Some(if mixed.is_multiple_of(4) {
            EDGES[(mixed >> 8) as usize % EDGES.len()]
        } else {
            mixed.wrapping_mul(0x9e37_79b1)
        })
    })
}
