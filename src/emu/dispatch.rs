//! A compute dispatch, workgroup by workgroup: sets registers and tables for each wave as the driver does (pal-abi 2.5,
//! 4).

use super::load::{LoadedPipeline, StageCode};
use super::machine::{Machine, RunLimits, RunStats};
use super::memory::Memory;
use super::trace::{Follow, Trace};
use super::wave::{POISON, Wave};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{ScratchAccess, Stage, WaveSize};
use dovetail_isa::{Isa, Scalar, Sgpr, Vgpr};
use dovetail_metadata::registers::compute_num_thread::NUM_THREAD_FULL as THREADS;
use dovetail_metadata::registers::{COMPUTE_NUM_THREAD, RegisterWords, compute_pgm_rsrc2 as rsrc2};
use dovetail_metadata::user_data::{MAX_ROOT_DWORDS, pal};

/// Bytes of the global table: the scratch descriptors come first.
const GLOBAL_TABLE_BYTES: usize = 256;

/// Values for user data, apart from the root table's address.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Root dwords.
    pub root: Vec<u32>,
    /// Low half of the address of the spill table.
    pub spill: u32,
    /// Low half of the address of the global table.
    pub global: u32,
    /// Address of the workgroup counts of the grid.
    pub workgroups: u64,
    /// Values of other user-data entries.
    pub others: Vec<(u32, u32)>,
}

impl Tables {
    /// Allocates the tables that any pipeline may need; root dwords from the spill threshold on go to the spill table.
    ///
    /// # Errors
    /// Malformed: too many root dwords.
    pub fn new(machine: &mut Machine, pipeline: &LoadedPipeline, root: &[u32]) -> Result<Self> {
        if root.len() > MAX_ROOT_DWORDS as usize {
            return Err(Error::malformed(format!("{} root dwords: PAL has {MAX_ROOT_DWORDS}", root.len())));
        }
        let threshold = pipeline.spill_threshold as usize;
        let spilled = root.iter().enumerate().map(|(n, dword)| if n >= threshold { *dword } else { POISON });
        let spilled: Vec<u8> = spilled.flat_map(u32::to_le_bytes).collect();
        let spill = machine.alloc_with(&spilled)? as u32;
        let global = machine.alloc(GLOBAL_TABLE_BYTES)? as u32;
        Ok(Self { root: root.to_vec(), spill, global, ..Self::default() })
    }

    /// Sets the user-data SGPRs of a wave.
    pub fn set_user_data(&self, stage: &StageCode, wave: &mut Wave) -> Result<()> {
        let mut high = None;
        let first = u8::try_from(stage.hardware.first_user_sgpr()).unwrap_or(u8::MAX);
        for (n, &what) in (first..).zip(&stage.user_data) {
            let value = match what {
                pal::GLOBAL_TABLE => self.global,
                pal::SPILL_TABLE => self.spill,
                pal::WORKGROUP => {
                    high = Some((self.workgroups >> 32) as u32);
                    self.workgroups as u32
                }
                // The high half of a pointer has no user-data entry.
                pal::NOT_MAPPED | pal::PER_SHADER_TABLE => high.take().unwrap_or(POISON),
                number if number < MAX_ROOT_DWORDS => self.root.get(number as usize).copied().unwrap_or(POISON),
                number => match self.others.iter().find(|(known, _)| *known == number) {
                    Some((_, value)) => *value,
                    None => return Err(Error::unsupported("user data", format!("{number:#x}"))),
                },
            };
            set_sgpr(wave, n, value)?;
        }
        Ok(())
    }

    /// Writes the scratch descriptor to an entry of the global table: swizzled for 64 lanes, never out of range.
    pub fn set_scratch(&self, machine: &mut Machine, entry: u64, address: u64) -> Result<()> {
        let table = u64::from(Memory::HIGH) << 32 | u64::from(self.global);
        // 32_FLOAT, XYZW; index stride 64, thread id, resource level, rule 2.
        let word3 = 0xfac | 22 << 12 | 3 << 21 | 1 << 23 | 1 << 24 | 2 << 28;
        let words = [address as u32, (address >> 32) as u32 | 1 << 31, u32::MAX, word3];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        machine.write(table + entry, &bytes)
    }

    /// Writes the descriptor of the attribute ring to the global table: swizzled for 8 lanes in elements of 16 bytes, never out
    /// of range (PAL: `AttributeRing`). The stride is the code's to set.
    pub fn set_attribute_ring(&self, machine: &mut Machine, address: u64) -> Result<[u32; 4]> {
        let table = u64::from(Memory::HIGH) << 32 | u64::from(self.global);
        let stride = 0x1234;
        // 32_32_32_32_FLOAT, XYZW; index stride 8, rule 2.
        let words =
            [address as u32, (address >> 32) as u32 | stride << 16 | 3 << 30, u32::MAX, 0xfac | 63 << 12 | 2 << 28];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        machine.write(table + ATTRIBUTE_RING, &bytes)?;
        Ok(words)
    }
}

/// Byte offset of the attribute ring's descriptor in the global table (PAL: entry 11).
const ATTRIBUTE_RING: u64 = 0xb0;

/// Sets a scalar register by number.
pub fn set_sgpr(wave: &mut Wave, n: u8, value: u32) -> Result<()> {
    let register = Sgpr::new(n).ok_or_else(|| Error::malformed(format!("no SGPR {n}")))?;
    wave.set_scalar(Scalar::Sgpr(register), value);
    Ok(())
}

/// Byte offset of the entry for compute scratch in the global table.
const COMPUTE_SCRATCH: u64 = 0x10;

impl Machine {
    /// Runs a compute pipeline over a grid of workgroups. `root` is the root table: pointers to descriptor sets, push
    /// constants, and descriptors of dynamic buffers, at the offsets of the resource layout.
    ///
    /// # Errors
    /// An error of the code, with the instruction; or a pipeline that the emulator cannot start.
    pub fn dispatch(
        &mut self,
        pipeline: &LoadedPipeline,
        root: &[u32],
        grid: [u32; 3],
        limits: RunLimits,
    ) -> Result<RunStats> {
        self.dispatch_traced(pipeline, root, grid, limits, None)
    }

    /// [`Self::dispatch`] with an invocation traced.
    ///
    /// # Errors
    /// Those of [`Self::dispatch`].
    pub fn dispatch_traced(
        &mut self,
        pipeline: &LoadedPipeline,
        root: &[u32],
        grid: [u32; 3],
        limits: RunLimits,
        mut trace: Option<&mut Trace>,
    ) -> Result<RunStats> {
        if let Some(trace) = trace.as_deref_mut() {
            trace.set_parts(&pipeline.parts);
        }
        let stage = pipeline.stages.get(&Stage::Compute);
        let stage = stage.ok_or_else(|| Error::malformed("the pipeline has no compute stage"))?;
        let mut group = Group::new(stage, &pipeline.registers, self.isa())?;
        if self.isa().facts().workgroup_ids_apart && grid[1..].iter().any(|n| *n > 1 << 16) {
            return Err(Error::unsupported(
                "more than 65,536 workgroups along y or z",
                "this GPU gives their ids in 16 bits each; use the x axis",
            ));
        }
        let mut tables = Tables::new(self, pipeline, root)?;
        let numbers: Vec<u8> = grid.into_iter().flat_map(u32::to_le_bytes).collect();
        tables.workgroups = self.alloc_with(&numbers)?;
        if group.wave_scratch != 0 {
            group.scratch = self.alloc(group.wave_scratch * group.waves())?;
            if group.has_scratch_descriptor() {
                tables.set_scratch(self, COMPUTE_SCRATCH, group.scratch)?;
            }
        }
        let mut stats = RunStats::default();
        for z in 0..grid[2] {
            for y in 0..grid[1] {
                for x in 0..grid[0] {
                    let mut waves =
                        (0..group.waves()).map(|n| group.wave(n, [x, y, z], &tables)).collect::<Result<Vec<_>>>()?;
                    if let Some(trace) = trace.as_deref_mut() {
                        let target = group.place(trace.follow(), [x, y, z]);
                        trace.begin(target, format!("workgroup {x}, {y}, {z}"), group.stage.wave.lanes() as usize)?;
                    }
                    self.run_group_traced(&mut waves, group.lds, limits, &mut stats, trace.as_deref_mut())
                        .map_err(|e| e.at(format!("workgroup {x}, {y}, {z}")))?;
                }
            }
        }
        Ok(stats)
    }
}

/// Settings that all workgroups share, from the registers.
struct Group<'a> {
    isa: &'static Isa,
    stage: &'a StageCode,
    threads: [u32; 3],
    ids: [bool; 3],
    size: bool,
    local_ids: u8,
    lds: usize,
    /// Bytes of scratch memory of a wave.
    wave_scratch: usize,
    /// Address of the scratch memory of a workgroup.
    scratch: u64,
}

impl<'a> Group<'a> {
    fn new(stage: &'a StageCode, registers: &RegisterWords, isa: &'static Isa) -> Result<Self> {
        let threads =
            [0, 1, 2].map(|n| registers.get(COMPUTE_NUM_THREAD.nth(n)).map(|_| registers.field(THREADS.nth(n))));
        let [Some(x), Some(y), Some(z)] = threads else { return Err(Error::malformed("no COMPUTE_NUM_THREAD")) };
        let all = u64::from(x) * u64::from(y) * u64::from(z);
        if all == 0 || all > 1024 {
            return Err(Error::malformed(format!("a workgroup of {x} × {y} × {z}")));
        }
        let on = |field| registers.field(field) == 1;
        Ok(Self {
            isa,
            stage,
            threads: [x, y, z],
            ids: [rsrc2::TGID_X_EN, rsrc2::TGID_Y_EN, rsrc2::TGID_Z_EN].map(on),
            size: on(rsrc2::TG_SIZE_EN),
            local_ids: registers.field(rsrc2::TIDIG_COMP_CNT).min(2) as u8,
            lds: registers.field(rsrc2::LDS_SIZE) as usize * isa.facts().lds_unit as usize,
            wave_scratch: stage.scratch as usize * stage.wave.lanes() as usize,
            scratch: 0,
        })
    }

    /// Wave and lane of the traced invocation, if it is in this workgroup.
    fn place(&self, follow: Follow, group: [u32; 3]) -> Option<(usize, usize)> {
        let [x, y, z] = self.threads;
        let (wanted, id) = match follow {
            Follow::Global(id) => ([id[0] / x, id[1] / y, id[2] / z], [id[0] % x, id[1] % y, id[2] % z]),
            Follow::Local { group, id } => (group, id),
            Follow::Pixel { .. } | Follow::Vertex { .. } => return None,
        };
        if wanted != group || id.iter().zip(self.threads).any(|(id, threads)| *id >= threads) {
            return None;
        }
        let index = (id[0] + x * (id[1] + y * id[2])) as usize;
        let lanes = self.stage.wave.lanes() as usize;
        Some((index / lanes, index % lanes))
    }

    fn has_scratch_descriptor(&self) -> bool {
        self.isa.facts().scratch == ScratchAccess::Descriptor
    }

    fn lanes(&self) -> usize {
        self.threads.iter().product::<u32>() as usize
    }

    fn waves(&self) -> usize {
        self.lanes().div_ceil(self.stage.wave.lanes() as usize)
    }

    /// Wave `n` of a workgroup, before its first instruction.
    fn wave(&self, n: usize, id: [u32; 3], tables: &Tables) -> Result<Wave> {
        let size = self.stage.wave;
        let first = n * size.lanes() as usize;
        let lanes = (self.lanes() - first).min(size.lanes() as usize);
        let mut wave = Wave::new(self.isa, size, self.stage.entry, self.stage.mode, u64::MAX >> (64 - lanes));
        wave.limit_vgprs(self.stage.vgprs);
        tables.set_user_data(self.stage, &mut wave)?;
        let mut next = u8::try_from(self.stage.user_data.len()).unwrap_or(u8::MAX);
        let mut push = |wave: &mut Wave, value| {
            let register = next;
            next = next.saturating_add(1);
            set_sgpr(wave, register, value)
        };
        if self.isa.facts().workgroup_ids_apart {
            wave.set_scalar(Scalar::WorkgroupX, id[0]);
            wave.set_scalar(Scalar::WorkgroupYz, id[1] & 0xffff | id[2] << 16);
        } else {
            for (id, _) in id.into_iter().zip(self.ids).filter(|(_, enabled)| *enabled) {
                push(&mut wave, id)?;
            }
        }
        if self.size {
            // Waves per workgroup, and the index of this one (K: where Mesa expects it from gfx10.3 on).
            push(&mut wave, (self.waves() | n << 20) as u32)?;
        }
        if self.has_scratch_descriptor() {
            if self.wave_scratch != 0 {
                push(&mut wave, (n * self.wave_scratch) as u32)?;
            }
        } else {
            wave.flat_scratch = self.scratch + (n * self.wave_scratch) as u64;
        }
        let [x, y, _] = self.threads;
        for lane in 0..lanes {
            let index = (first + lane) as u32;
            let local = [index % x, index / x % y, index / x / y];
            if self.isa.facts().packed_local_ids {
                wave.set_vgpr(Vgpr(0), 0, lane, local[0] | local[1] << 10 | local[2] << 20);
                continue;
            }
            for (v, value) in (0..=self.local_ids).zip(local) {
                wave.set_vgpr(Vgpr(v), 0, lane, value);
            }
        }
        debug_assert!(size == WaveSize::W64 || lanes <= 32);
        Ok(wave)
    }
}
