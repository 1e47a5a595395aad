//! A running shader: storage of its values, and access to them and to bound resources.

use super::bounds::Reach;
use super::memory::ShadowedMemory;
use super::order;
use super::races::{Races, Touch, Toucher};
use super::shadow::Shadow;
use super::texture::{InterpretedSampler, Texture};
use super::wave::{ENDED, Wave};
use super::world::{InterpreterStats, Options, World, WriterInvocation};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Bits, BlockId, Inst, Op, Shader, Type, Value};
use smallvec::SmallVec;

/// A shader ready to run, and the current workgroup.
pub(super) struct Machine<'a> {
    pub shader: &'a Shader,
    pub options: Options,
    /// Registers for the values, one per component.
    pub registers: usize,
    /// Bytes of scratch of one lane.
    pub scratch_bytes: u32,
    pub stats: InterpreterStats,
    pub world: &'a mut World,
    /// Bounds of accesses to workgroup memory.
    pub(super) reach: Reach,
    /// First register of each value.
    first: Vec<usize>,
    /// Scratch offset of each local.
    pub locals: Vec<u32>,
    pub tables: Vec<ShadowedMemory>,
    /// Blocks in the order in which lanes wait for each other, and the index of each block in it.
    pub order: Vec<BlockId>,
    positions: Vec<u32>,
    /// Memory of the current workgroup.
    pub shared: ShadowedMemory,
    /// Index of the current workgroup.
    pub group: [u32; 3],
    /// Number of workgroups.
    pub grid: [u32; 3],
    /// Number of barriers that the workgroup has met.
    pub phase: u32,
}

/// A descriptor as a value: the resource's index plus one (0: no descriptor), and the array element.
pub(super) type Bound = (u32, u32, u32);

impl<'a> Machine<'a> {
    pub fn new(shader: &'a Shader, world: &'a mut World, options: Options) -> Result<Self> {
        let size = options.subgroup_size;
        if !size.is_power_of_two() || !(4..=64).contains(&size) {
            return Err(Error::malformed(format!("subgroups of {size}")));
        }
        let mut registers = 0;
        let first = shader.values.iter().map(|v| {
            registers += v.ty.lanes() as usize;
            registers - v.ty.lanes() as usize
        });
        let first = first.collect();
        let mut scratch_bytes = 0u32;
        let mut locals = Vec::new();
        for local in &shader.locals {
            scratch_bytes = scratch_bytes.next_multiple_of(local.align.bytes());
            locals.push(scratch_bytes);
            scratch_bytes = scratch_bytes.saturating_add(local.bytes);
        }
        scratch_bytes = scratch_bytes.next_multiple_of(16);
        if scratch_bytes > 1 << 20 {
            return Err(Error::unsupported("scratch size", format!("{scratch_bytes} bytes a lane")));
        }
        let order = order::order(shader);
        let mut positions = vec![ENDED; shader.blocks.len()];
        for (n, block) in order.iter().enumerate() {
            positions[block.index()] = n as u32;
        }
        Ok(Self {
            options,
            registers,
            scratch_bytes,
            stats: InterpreterStats::default(),
            world,
            reach: Reach::new(shader),
            first,
            locals,
            tables: shader.tables.iter().map(|t| ShadowedMemory::new(t.bytes.to_vec())).collect(),
            order,
            positions,
            shared: ShadowedMemory::default(),
            group: [0; 3],
            grid: [1; 3],
            phase: 0,
            shader,
        })
    }

    /// Starts the next workgroup, with fresh shared memory.
    pub fn start_group(&mut self, group: [u32; 3], grid: [u32; 3]) {
        self.shared = ShadowedMemory::unwritten(self.shader.shared_bytes as usize, self.options.shadow);
        (self.group, self.grid, self.phase) = (group, grid, 0);
        self.world.races.iter_mut().for_each(Races::start_group);
    }

    /// A block's index in the order.
    pub fn position(&self, block: BlockId) -> u32 {
        self.positions.get(block.index()).copied().unwrap_or(ENDED)
    }

    /// The registers of a value's components.
    pub fn registers_of(&self, v: Value) -> std::ops::Range<usize> {
        let first = self.first.get(v.index()).copied().unwrap_or(0);
        first..first + self.shader.ty(v).lanes() as usize
    }

    /// First component of a value.
    pub fn arg(&self, wave: &Wave, v: Value, lane: usize) -> (u64, Shadow) {
        let register = self.first.get(v.index()).copied().unwrap_or(0);
        (wave.get(register, lane), wave.shadow(register, lane))
    }

    /// Sets the first component of an instruction's result.
    pub fn set(&self, wave: &mut Wave, inst: &Inst, lane: usize, bits: u64, shadow: Shadow) {
        if let Some(result) = inst.result {
            let register = self.first.get(result.index()).copied().unwrap_or(0);
            wave.set(register, lane, bits & self.shader.ty(result).bits().mask(), shadow);
        }
    }

    /// Sets an instruction's result to a value in memory.
    pub fn loaded(&self, wave: &mut Wave, inst: &Inst, lane: usize, memory: &ShadowedMemory, at: u64, address: Shadow) {
        let Some(result) = inst.result else { return };
        let ty: Type = self.shader.ty(result);
        for (register, at) in self.registers_of(result).zip(ShadowedMemory::components(at, ty)) {
            let (bits, shadow) = memory.load(at, ty.bits());
            wave.set(register, lane, bits, if address.is_exact() { shadow } else { Shadow::UNCERTAIN });
        }
    }

    /// The components of an operand, with their widths; those of a tainted lane are uncertain.
    pub fn values(&self, wave: &Wave, inst: &Inst, n: usize, lane: usize) -> SmallVec<[(u64, Shadow, Bits); 4]> {
        let Some(&v) = inst.args.get(n) else { return SmallVec::new() };
        let tainted = wave.tainted >> lane & 1 != 0;
        let bits = self.shader.ty(v).bits();
        let one = |r| (wave.get(r, lane), if tainted { Shadow::UNCERTAIN } else { wave.shadow(r, lane) }, bits);
        self.registers_of(v).map(one).collect()
    }

    pub fn atomic_width(&self, inst: &Inst, data: usize) -> Bits {
        let v = inst.args.get(data).copied().or(inst.result);
        v.map_or(Bits::B32, |v| self.shader.ty(v).bits())
    }

    pub(super) fn place_of(&self, wave: &Wave, v: Value, lane: usize) -> Option<Bound> {
        let registers = self.registers_of(v);
        let number = wave.get(registers.start, lane).checked_sub(1)?;
        let resource = self.shader.resources.get(usize::try_from(number).ok()?)?;
        Some((resource.set, resource.binding, wave.get(registers.start + 1, lane) as u32))
    }

    /// Records the writer if the byte is watched.
    pub fn watch(&mut self, wave: &Wave, lane: usize, place: Option<Bound>, at: u64, bytes: u32) {
        let Some(watch) = &mut self.world.watch else { return };
        if place == Some(watch.place) && watch.byte.checked_sub(at).is_some_and(|n| n < u64::from(bytes)) {
            let local = self.shader.modes.local_id(wave.first + lane as u32);
            watch.writer = Some(WriterInvocation { workgroup: self.group, local });
        }
    }

    /// Follows an access that was made, if races are to be found; `None`: to workgroup memory.
    pub fn touched(&mut self, wave: &Wave, lane: usize, place: Option<Bound>, at: u64, bytes: u32, touch: Touch) {
        let World { races: Some(races), buffers, .. } = &mut *self.world else { return };
        let memory = match place {
            Some(place) => buffers.get(&place),
            None => Some(&self.shared),
        };
        let all = memory.map_or(&[][..], ShadowedMemory::bytes);
        let local = self.shader.modes.local_id(wave.first + lane as u32);
        let invocation = WriterInvocation { workgroup: self.group, local };
        let by = Toucher { invocation, phase: self.phase, touch };
        for byte in at..at.saturating_add(bytes.into()) {
            let value = usize::try_from(byte).ok().and_then(|n| all.get(n));
            value.into_iter().for_each(|value| races.touch(place, byte, by, *value));
        }
    }

    /// The texture that an image operand points to.
    pub fn texture(&mut self, wave: &Wave, v: Value, lane: usize) -> Option<&mut Texture> {
        let place = self.place_of(wave, v, lane)?;
        self.world.textures.get_mut(&place)
    }

    /// The levels that are not resident in an image operand's image.
    pub fn absent_levels(&self, wave: &Wave, v: Value, lane: usize) -> u32 {
        self.place_of(wave, v, lane).and_then(|place| self.world.absent.get(&place)).copied().unwrap_or(0)
    }

    /// The sampler that an operand points to.
    pub fn sampler(&self, wave: &Wave, v: Value, lane: usize) -> Option<InterpretedSampler> {
        self.world.samplers.get(&self.place_of(wave, v, lane)?).copied()
    }
}

/// The error for an operation that is not implemented.
pub(super) fn unsupported(op: &Op) -> Error {
    Error::unsupported("interpreting an operation", format!("{op:?}"))
}

/// Writes the components of a value.
pub(super) fn store(memory: &mut ShadowedMemory, at: u64, address: Shadow, values: &[(u64, Shadow, Bits)]) {
    let mut at = at;
    for &(bits, shadow, width) in values {
        memory.store_at((at, address), width, bits, shadow);
        at = at.wrapping_add(u64::from(width.bytes()));
    }
}
