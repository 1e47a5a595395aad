//! The fetch prolog: loads a vertex body's attributes into the registers above its system values, and falls through into the
//! body.
//!
//! Contract (pal-abi 2.3): entry SGPRs and system values ([`VertexEntry`]) are unchanged, all loads have completed at the
//! end, and the prolog may use all registers above the entry SGPRs and the fetched VGPRs. A body that waits for its attributes
//! itself gets them while their loads are outstanding, provided that the prolog neither converts nor moves what they return.
//!
//! The SGPR after the user data counts as an entry SGPR too, because the hardware writes the scratch wave offset there if
//! RSRC2.SCRATCH_EN is set. The prolog keeps it in any case: this costs one register of 104, and lets bodies with and
//! without scratch share a prolog. A batch has as many descriptors as the free SGPRs hold. A load reads its descriptor
//! when it is issued, so the next batch may overwrite it.

use super::divide::{Division, division};
use super::piece::{Attach, GluePiece, Recorder};
use dovetail_abi::fetch::{FetchLoad, FetchPlan, FetchedDword, VertexIndex, kept_sgprs, table_address_sgpr};
use dovetail_abi::vertex_entry::VertexEntry;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage};
use dovetail_isa::instruction::{BufferFields, Fields};
use dovetail_isa::{BufferFormat, CachePolicy, Counter, Instruction, Isa, Op, Scalar, Sgpr, Src, Vgpr};
use dovetail_metadata::interface::{MAX_JOINT_VGPRS, UserData};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// All inputs of a fetch prolog. Registers that the plan does not use are left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FetchKey {
    /// The fetches.
    pub plan: FetchPlan,
    /// SGPR with the low half of the vertex-buffer table's address.
    pub vertex_buffer_table: Option<u32>,
    /// SGPR of the first vertex.
    pub base_vertex: Option<u32>,
    /// SGPR of the first instance.
    pub base_instance: Option<u32>,
    /// SGPRs that the prolog must keep: those that the hardware loads, including the scratch wave offset.
    pub entry_sgprs: u32,
    /// The body waits for the loads, so the prolog does not.
    pub awaited: bool,
    /// The body takes the high half of the code's address, and nothing is loaded that would need it here.
    pub address_high: bool,
}

const DESCRIPTOR_BYTES: u32 = 16;
const DESCRIPTOR_SGPRS: u32 = 4;
/// Loads by the number of descriptors that they read, the longest first.
const LOADS: [(usize, Op); 3] = [(4, Op::SLoadDwordx16), (2, Op::SLoadDwordx8), (1, Op::SLoadDwordx4)];

/// What a body expects of its prolog besides the attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyTakes {
    /// It waits for the attributes' loads itself.
    pub awaits_inputs: bool,
    /// It takes the high half of the code's address from the prolog.
    pub address_high: bool,
}

impl FetchKey {
    /// The key for a body with these user data; `entry_sgprs` does not count the scratch wave offset.
    ///
    /// # Errors
    /// Malformed: the body lacks user data that the prolog needs.
    pub fn new(
        target: Gpu,
        plan: FetchPlan,
        user_data: &[UserData],
        entry_sgprs: u32,
        takes: BodyTakes,
    ) -> Result<Self> {
        let entry = VertexEntry::of(target);
        let register = |what: UserData, wanted: bool| {
            let found = (entry.user..).zip(user_data).find(|(_, data)| **data == what).map(|(register, _)| register);
            match found.filter(|_| wanted) {
                None if wanted => Err(Error::malformed(format!("{what:?} is not among the user data"))),
                register => Ok(register),
            }
        };
        let loads = !plan.loads.is_empty();
        let vertex = plan.loads.iter().any(|load| load.index == VertexIndex::Vertex);
        let instance = plan.loads.iter().any(|load| load.index != VertexIndex::Vertex);
        Ok(Self {
            vertex_buffer_table: register(UserData::VertexBufferTable, loads)?,
            base_vertex: register(UserData::BaseVertex, vertex)?,
            base_instance: register(UserData::BaseInstance, instance)?,
            entry_sgprs: if loads || takes.address_high {
                kept_sgprs(entry.user.saturating_add(entry_sgprs))
            } else {
                0
            },
            address_high: takes.address_high && !loads,
            awaited: takes.awaits_inputs && loads && !changes_loaded(&entry, &plan),
            plan,
        })
    }
}

pub(super) fn emit(target: Gpu, key: &FetchKey) -> Result<GluePiece> {
    let mut prolog = Prolog::new(target, key)?;
    prolog.fetch()?;
    prolog.settle()?;
    prolog.out.finish(target.hardware_stage(Stage::Vertex).entry_symbol(), Attach::Before)
}

struct Prolog<'a> {
    key: &'a FetchKey,
    entry: VertexEntry,
    out: Recorder,
    /// Next free VGPR above the fetched ones.
    next_vgpr: u32,
    /// Index values computed so far.
    indices: SmallVec<[((VertexIndex, u32), Vgpr); 4]>,
    /// First register of each load.
    loaded: SmallVec<[Vgpr; 32]>,
}

impl<'a> Prolog<'a> {
    fn new(target: Gpu, key: &'a FetchKey) -> Result<Self> {
        let isa = Isa::of(target);
        let entry = VertexEntry::of(target);
        let fetched = u32::try_from(key.plan.dwords.len()).ok().filter(|count| *count <= MAX_JOINT_VGPRS);
        let next_vgpr = entry.fetched + fetched.ok_or_else(|| Error::malformed("too many vertex inputs"))?;
        Ok(Self { key, entry, out: Recorder::new(isa), next_vgpr, indices: SmallVec::new(), loaded: SmallVec::new() })
    }

    fn fetch(&mut self) -> Result<()> {
        let plan = &self.key.plan;
        if plan.loads.is_empty() && !self.key.address_high {
            return Ok(());
        }
        let mut bindings: SmallVec<[u32; 16]> = SmallVec::new();
        for load in &plan.loads {
            if !bindings.contains(&load.binding) {
                bindings.push(load.binding);
            }
        }
        bindings.sort_unstable();
        // Temporary SGPRs start above the entry registers: table address, large offset, descriptors.
        let limit = self.out.isa.facts().usable_sgprs;
        let pair = table_address_sgpr(self.key.entry_sgprs.min(limit));
        let descriptors = (pair + 3).next_multiple_of(DESCRIPTOR_SGPRS);
        let room = limit.saturating_sub(descriptors) / DESCRIPTOR_SGPRS;
        if room == 0 {
            return Err(Error::malformed(format!("{} entry SGPRs leave no room to fetch", self.key.entry_sgprs)));
        }
        let table = self.out.sgprs(pair, 2)?;
        // Driver memory shares the high half of its addresses with the code.
        self.out.push(Instruction::scalar(self.out.isa, Op::SGetpcB64, Some(Scalar::Sgpr(table)), &[]));
        if plan.loads.is_empty() {
            return Ok(());
        }
        let low = self.user(self.key.vertex_buffer_table)?;
        self.out.smov(table, low);
        self.place_loads()?;
        for batch in bindings.chunks(room as usize) {
            let places = self.load_descriptors(batch, table, descriptors)?;
            // Index arithmetic runs while the first batch of descriptors loads.
            for load in &plan.loads {
                self.index(load.index, load.skip)?;
            }
            self.out.wait(Counter::Scalar);
            for (load, data) in plan.loads.iter().zip(self.loaded.clone()) {
                if let Some((_, resource)) = places.iter().find(|(binding, _)| *binding == load.binding) {
                    self.load(load, data, *resource, pair + 2)?;
                }
            }
        }
        if !self.key.awaited {
            self.out.wait(Counter::Vector);
        }
        Ok(())
    }

    fn user(&mut self, register: Option<u32>) -> Result<Sgpr> {
        self.out.sgprs(register.ok_or_else(|| Error::malformed("the key lacks a user-data register"))?, 1)
    }

    /// Loads the descriptors of bindings in ascending order into registers from `first` on; returns where each is.
    fn load_descriptors(&mut self, bindings: &[u32], base: Sgpr, first: u32) -> Result<SmallVec<[(u32, Sgpr); 16]>> {
        let mut places = SmallVec::new();
        for (register, binding) in (first..).step_by(DESCRIPTOR_SGPRS as usize).zip(bindings) {
            places.push((*binding, self.out.sgprs(register, DESCRIPTOR_SGPRS)?));
        }
        let mut rest: &[(u32, Sgpr)] = &places;
        while let Some((binding, data)) = rest.first() {
            let neighbours = 1 + rest.windows(2).take_while(|pair| pair[1].0 == pair[0].0 + 1).count();
            let load = LOADS.iter().find(|(count, _)| *count <= neighbours);
            let (count, op) = *load.ok_or_else(|| Error::bug("no load of one descriptor"))?;
            // A 20-bit offset reaches 65536 descriptors.
            let offset = binding.checked_mul(DESCRIPTOR_BYTES).filter(|offset| *offset < 1 << 20);
            let offset = offset.and_then(|offset| i32::try_from(offset).ok());
            let offset = offset.ok_or_else(|| Error::malformed(format!("vertex binding {binding} is out of reach")))?;
            self.out.push(Instruction::scalar_load(self.out.isa, op, *data, base, offset));
            rest = &rest[count..];
        }
        Ok(places)
    }

    /// The register that holds an index, computed at its first use.
    fn index(&mut self, index: VertexIndex, skip: u32) -> Result<Vgpr> {
        if let Some((_, register)) = self.indices.iter().find(|(known, _)| *known == (index, skip)) {
            return Ok(*register);
        }
        let register = if skip == 0 {
            let register = self.temporary(1)?;
            self.base_index(register, index)?;
            register
        } else {
            let base = self.index(index, 0)?;
            let register = self.temporary(1)?;
            self.out.vector2(Op::VAddNcU32, register, Src::from_bits(skip), base);
            register
        };
        self.indices.push(((index, skip), register));
        Ok(register)
    }

    fn base_index(&mut self, register: Vgpr, index: VertexIndex) -> Result<()> {
        match index {
            VertexIndex::Vertex => {
                let base = self.user(self.key.base_vertex)?;
                self.out.vector2(Op::VAddNcU32, register, base, Vgpr(self.entry.vertex_id));
            }
            VertexIndex::Instance { divisor } => {
                let base = self.user(self.key.base_instance)?;
                match division(divisor) {
                    None => self.out.mov(register, base),
                    Some(Division::Shift(0)) => {
                        self.out.vector2(Op::VAddNcU32, register, base, Vgpr(self.entry.instance_id))
                    }
                    Some(by) => {
                        self.divide(register, by)?;
                        self.out.vector2(Op::VAddNcU32, register, base, register);
                    }
                }
            }
        }
        Ok(())
    }

    fn divide(&mut self, register: Vgpr, by: Division) -> Result<()> {
        let shift = |out: &mut Recorder, by: u32| {
            if by != 0 {
                out.vector2(Op::VLshrrevB32, register, Src::from_bits(by), register);
            }
        };
        match by {
            Division::Shift(amount) => {
                self.out.vector2(Op::VLshrrevB32, register, Src::from_bits(amount), Vgpr(self.entry.instance_id));
            }
            Division::Multiply { multiplier, shift: amount } => {
                let multiplier = Src::from_bits(multiplier);
                self.out.vector2(Op::VMulHiU32, register, multiplier, Vgpr(self.entry.instance_id));
                shift(&mut self.out, amount);
            }
            Division::MultiplyAdd { multiplier, shift: amount } => {
                let high = self.temporary(1)?;
                self.out.vector2(Op::VMulHiU32, high, Src::from_bits(multiplier), Vgpr(self.entry.instance_id));
                self.out.vector2(Op::VSubNcU32, register, Vgpr(self.entry.instance_id), high);
                shift(&mut self.out, 1);
                self.out.vector2(Op::VAddNcU32, register, register, high);
                shift(&mut self.out, amount);
            }
        }
        Ok(())
    }

    /// Assigns registers to each load: the fetched registers themselves if the channels arrive in their order,
    /// otherwise temporaries.
    fn place_loads(&mut self) -> Result<()> {
        for (number, load) in (0u32..).zip(&self.key.plan.loads) {
            let data = match in_place(self.entry.fetched, &self.key.plan, number, load) {
                Some(first) => self.out.vgpr(first)?,
                None => self.temporary(data_registers(load))?,
            };
            self.loaded.push(data);
        }
        Ok(())
    }

    fn load(&mut self, load: &FetchLoad, data: Vgpr, resource: Sgpr, spare: u32) -> Result<()> {
        let op = match (load.components, load.half) {
            (1, false) => Op::TbufferLoadFormatX,
            (2, false) => Op::TbufferLoadFormatXy,
            (3, false) => Op::TbufferLoadFormatXyz,
            (4, false) => Op::TbufferLoadFormatXyzw,
            (1, true) => Op::TbufferLoadFormatD16X,
            (2, true) => Op::TbufferLoadFormatD16Xy,
            (3, true) => Op::TbufferLoadFormatD16Xyz,
            (4, true) => Op::TbufferLoadFormatD16Xyzw,
            (n, _) => return Err(Error::malformed(format!("a load of {n} channels"))),
        };
        let format = BufferFormat::new(load.format);
        let format = format.ok_or_else(|| Error::malformed(format!("no buffer format {}", load.format)))?;
        let vaddr = self.index(load.index, load.skip)?;
        let most = self.out.isa.limits.buffer_offset;
        let soffset = match load.offset & !most {
            0 => self.out.isa.no_offset(),
            large => {
                let spare = self.out.sgprs(spare, 1)?;
                self.out.smov(spare, Src::from_bits(large));
                spare.into()
            }
        };
        let offset = load.offset & most;
        let fields = BufferFields {
            data,
            vaddr,
            idxen: true,
            offen: false,
            resource: Scalar::Sgpr(resource),
            soffset,
            offset,
            format: Some(format.number()),
            lds: false,
            tfe: false,
            cache: CachePolicy::default(),
        };
        self.out.push(Instruction::new(self.out.isa, op, Fields::Buffer(fields)));
        Ok(())
    }

    /// Moves values into the fetched registers, from the last to the first: 16-bit channels loaded in place have two
    /// values per register, and spread upwards.
    fn settle(&mut self) -> Result<()> {
        let plan = &self.key.plan;
        for (number, dword) in plan.dwords.iter().enumerate().rev() {
            let register =
                self.out.vgpr(u32::try_from(number).unwrap_or(u32::MAX).saturating_add(self.entry.fetched))?;
            let (load, component, bits) = match *dword {
                FetchedDword::Constant(bits) => {
                    self.out.mov(register, Src::from_bits(bits));
                    continue;
                }
                FetchedDword::Loaded { load, component, bits } => (load as usize, component, bits),
            };
            let (Some(from), Some(load)) = (self.loaded.get(load).copied(), plan.loads.get(load)) else {
                return Err(Error::malformed(format!("{register} comes from load {load}, which is not there")));
            };
            let place = if load.half { component / 2 } else { component };
            let from = self.out.vgpr(u32::from(from.number()) + u32::from(place))?;
            match bits {
                _ if load.half && component % 2 == 1 => self.out.vector2(Op::VLshrrevB32, register, Src::Int(16), from),
                8 | 16 => self.out.vector2(Op::VAndB32, register, Src::from_bits((1 << bits) - 1), from),
                _ if from != register => self.out.mov(register, from),
                _ => {}
            }
        }
        Ok(())
    }

    fn temporary(&mut self, count: u32) -> Result<Vgpr> {
        let first = self.out.vgpr(self.next_vgpr)?;
        self.next_vgpr += count;
        self.out.vgpr(self.next_vgpr - 1)?;
        Ok(first)
    }
}

/// The first of the fetched registers that a load fills with its channels in order; `None` if it fills others.
fn in_place(first: u32, plan: &FetchPlan, number: u32, load: &FetchLoad) -> Option<u32> {
    let uses = (first..).zip(&plan.dwords).filter_map(|(register, dword)| match dword {
        FetchedDword::Loaded { load, component, .. } if *load == number => Some((register, *component)),
        _ => None,
    });
    let (first, _) = uses.clone().next()?;
    let expected = (0..load.components).map(|component| (first + u32::from(component), component));
    uses.eq(expected).then_some(first)
}

/// Whether the prolog changes or moves loaded values, or loads anything into registers that the body does not know of.
fn changes_loaded(entry: &VertexEntry, plan: &FetchPlan) -> bool {
    let moved = (0u32..)
        .zip(&plan.loads)
        .any(|(number, load)| load.half || in_place(entry.fetched, plan, number, load).is_none());
    moved || plan.dwords.iter().any(|dword| matches!(dword, FetchedDword::Loaded { bits, .. } if *bits < 32))
}

/// Registers that a load writes.
fn data_registers(load: &FetchLoad) -> u32 {
    let components = u32::from(load.components).max(1);
    if load.half { components.div_ceil(2) } else { components }
}
