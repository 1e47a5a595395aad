//! The shaders as machine code: sets up waves of vertices and of quads from the pipeline's registers alone (pal-abi
//! 2.3, 2.4, 6, 9), and decodes their exports by the same registers.

use super::ngg::Slots;
use super::ring::AttributeRing;
use super::target::{converted, export_format, fits};
use super::{AssembledPrimitives, Pixel, Primitive, Quad, Shaders, Vertex, VertexId};
use crate::dispatch::{Tables, set_sgpr};
use crate::fixed_function::{Export, InterpolationPlane, Parameters};
use crate::load::{LoadedPipeline, StageCode};
use crate::machine::{Machine, RunLimits, RunStats};
use crate::mode::{Round, from_f16, to_f16};
use crate::trace::{Follow, Trace};
use crate::wave::{POISON, Wave};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{FamilyFacts, ScratchAccess, Stage};
use dovetail_isa::Vgpr;
use dovetail_metadata::registers as reg;
use dovetail_metadata::registers::{
    cb_shader_mask, db_shader_control, pa_cl_clip_cntl, pa_cl_vs_out_cntl, pa_sc_aa_config, pa_sc_mode_cntl_1,
    rsrc1_ps, rsrc1_vs, spi_baryc_cntl, spi_ps_in_control, spi_ps_input_addr, spi_ps_input_cntl, spi_ps_input_ena,
    spi_shader_col_format, spi_vs_out_config, vgt_primitiveid_en,
};
use dovetail_metadata::user_data::pal;
use dovetail_state::PrimitiveKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A pipeline whose shaders run on the machine.
pub struct MachineShaders<'a> {
    pub(super) machine: &'a mut Machine,
    pub(super) pipeline: &'a LoadedPipeline,
    tables: Tables,
    pub(super) limits: RunLimits,
    pub(super) trace: Option<&'a mut Trace>,
    /// Bytes of scratch memory of a wave, which is also the scratch offset of every wave.
    scratch: u32,
    /// Address of that memory, where the hardware knows it.
    scratch_base: u64,
    /// The attribute ring, where the GPU has one.
    pub(super) ring: Option<AttributeRing>,
    /// By the number of a primitive: its own parameters.
    pub(super) of_primitives: BTreeMap<u32, Slots>,
    /// Execution statistics.
    pub stats: RunStats,
}

/// Targets of exports.
pub(super) mod exports {
    pub const PRIM: u8 = 20;
    pub const MRT_LAST: u8 = 7;
    pub const MRTZ: u8 = 8;
    pub const DUAL: u8 = 21;
    pub const DUAL_LAST: u8 = 22;
    pub const POS: u8 = 12;
    pub const POS_LAST: u8 = 15;
    pub const PARAM: u8 = 32;
}

impl<'a> MachineShaders<'a> {
    /// Prepares a graphics pipeline with the tables that its user data point to; `trace` follows one invocation.
    ///
    /// # Errors
    /// Malformed: the pipeline has no vertex stage.
    pub fn new(
        machine: &'a mut Machine,
        pipeline: &'a LoadedPipeline,
        tables: Tables,
        limits: RunLimits,
        mut trace: Option<&'a mut Trace>,
    ) -> Result<Self> {
        if let Some(trace) = trace.as_deref_mut() {
            trace.set_parts(&pipeline.parts);
        }
        if !pipeline.stages.contains_key(&Stage::Vertex) {
            return Err(Error::malformed("the pipeline has no vertex stage"));
        }
        let scratch = pipeline.stages.values().map(|s| s.scratch as usize * s.wave.lanes() as usize).max().unwrap_or(0);
        let mut scratch_base = 0;
        if scratch != 0 {
            // All waves use the same scratch in turn. Its offset is not 0, so that the run exposes a wave that ignores
            // the offset.
            let address = machine.alloc(2 * scratch)?;
            match machine.isa().facts().scratch {
                ScratchAccess::Descriptor => tables.set_scratch(machine, GRAPHICS_SCRATCH, address)?,
                ScratchAccess::Base => scratch_base = address + scratch as u64,
            }
        }
        let ring = AttributeRing::new(machine, &tables)?;
        let (scratch, stats) = (scratch as u32, RunStats::default());
        Ok(Self {
            machine,
            pipeline,
            tables,
            limits,
            trace,
            scratch,
            scratch_base,
            ring,
            of_primitives: BTreeMap::new(),
            stats,
        })
    }

    /// The scratch offset that an SGPR of a stage has, if one has it.
    pub(super) fn scratch_offset(&self, stage: &StageCode) -> Option<u32> {
        let by_descriptor = self.machine.isa().facts().scratch == ScratchAccess::Descriptor;
        (stage.scratch != 0 && by_descriptor).then_some(self.scratch)
    }

    /// A wave with its user data, and the first SGPR after them.
    pub(super) fn wave(&self, stage: &StageCode, exec: u64) -> Result<(Wave, u8)> {
        let mut wave = Wave::new(self.machine.isa(), stage.wave, stage.entry, stage.mode, exec);
        wave.limit_vgprs(stage.vgprs);
        wave.flat_scratch = self.scratch_base;
        self.tables.set_user_data(stage, &mut wave)?;
        Ok((wave, u8::try_from(stage.user_data.len()).unwrap_or(u8::MAX)))
    }

    /// Runs a wave to its end.
    pub(super) fn run(&mut self, wave: Wave) -> Result<Wave> {
        let mut waves = [wave];
        self.machine.run_group_traced(&mut waves, 0, self.limits, &mut self.stats, self.trace.as_deref_mut())?;
        let [wave] = waves;
        Ok(wave)
    }

    pub(super) fn field(&self, field: reg::Field) -> u32 {
        self.pipeline.registers.field(field)
    }

    fn vertex_wave(&mut self, stage: &StageCode, ids: &[VertexId]) -> Result<Vec<Vertex>> {
        let (mut wave, next) = self.wave(stage, u64::MAX >> (64 - ids.len()))?;
        if let Some(offset) = self.scratch_offset(stage) {
            set_sgpr(&mut wave, next, offset)?;
        }
        let components = self.field(rsrc1_vs::VGPR_COMP_CNT);
        for (lane, id) in ids.iter().enumerate() {
            wave.set_vgpr(Vgpr(0), 0, lane, id.vertex);
            if components >= 2 {
                wave.set_vgpr(Vgpr(2), 0, lane, id.primitive);
            }
            if components >= 3 {
                wave.set_vgpr(Vgpr(3), 0, lane, id.instance);
            }
        }
        self.begin_trace(ids, &wave)?;
        let exported = self.run(wave)?.exports;
        self.exported_vertices(&exported, ids.len())
    }

    /// Begins to follow the vertex that the trace is for, if it is one of a wave.
    pub(super) fn begin_trace(&mut self, ids: &[VertexId], wave: &Wave) -> Result<()> {
        let Some(trace) = self.trace.as_deref_mut() else { return Ok(()) };
        let follow = trace.follow();
        let is = |id: &VertexId| match follow {
            Follow::Vertex { index, instance } => id.vertex == index && instance.is_none_or(|n| n == id.instance),
            _ => false,
        };
        let lane = ids.iter().position(is);
        let name = lane.map(|lane| format!("vertex {} of instance {}", ids[lane].vertex, ids[lane].instance));
        trace.begin(lane.map(|lane| (0, lane)), name.unwrap_or_default(), wave.lanes())
    }

    /// The vertices that the first lanes of a wave have exported.
    pub(super) fn exported_vertices(&self, exported: &[Export], count: usize) -> Result<Vec<Vertex>> {
        let mut vertices = vec![Vertex::default(); count];
        let mut positions = vec![[[None; 4]; 4]; count];
        let allowed = if self.ring.is_some() { 0 } else { self.slots() };
        for export in exported {
            for lane in (0..count).filter(|lane| export.exec >> lane & 1 == 1) {
                let sent = (0..4).filter(|n| export.enabled >> n & 1 == 1);
                match export.target {
                    exports::POS..=exports::POS_LAST => {
                        let row = &mut positions[lane][usize::from(export.target - exports::POS)];
                        sent.for_each(|n| row[n] = Some(f32::from_bits(export.values[n][lane])));
                    }
                    exports::PARAM.. => {
                        let slot = export.target - exports::PARAM;
                        if u32::from(slot) >= allowed {
                            return Err(Error::malformed(format!(
                                "parameter {slot} is exported where SPI_VS_OUT_CONFIG has {allowed}"
                            )));
                        }
                        let row = vertices[lane].parameters.entry(slot).or_insert([POISON; 4]);
                        sent.for_each(|n| row[n] = export.values[n][lane]);
                    }
                    other => return Err(Error::malformed(format!("a vertex shader exports to target {other}"))),
                }
            }
        }
        for (vertex, rows) in vertices.iter_mut().zip(&positions) {
            self.place(vertex, rows)?;
        }
        Ok(vertices)
    }

    /// Number of parameters of a vertex.
    pub(super) fn slots(&self) -> u32 {
        match self.field(spi_vs_out_config::NO_PC_EXPORT) {
            1 => 0,
            _ => self.field(spi_vs_out_config::VS_EXPORT_COUNT) + 1,
        }
    }

    /// Decodes the position vectors as `PA_CL_VS_OUT_CNTL` says.
    fn place(&self, vertex: &mut Vertex, rows: &[[Option<f32>; 4]; 4]) -> Result<()> {
        use pa_cl_vs_out_cntl as out;
        let [Some(x), Some(y), Some(z), Some(w)] = rows[0] else {
            return Err(Error::malformed("a vertex shader ends without a position"));
        };
        vertex.position = [x, y, z, w];
        let mut next = 1;
        let mut take = |enabled: u32| {
            let row = (enabled == 1).then(|| rows.get(next)).flatten();
            next += usize::from(row.is_some());
            row
        };
        let misc = take(self.field(out::VS_OUT_MISC_VEC_ENA));
        if self.field(out::USE_VTX_POINT_SIZE) == 1 {
            vertex.point_size = misc.and_then(|row| row[0]);
        }
        let word = |enabled, n: usize| match (self.field(enabled), misc.and_then(|row| row[n])) {
            (0, _) => Ok(0),
            (_, Some(word)) => Ok(word.to_bits()),
            _ => Err(Error::malformed(format!("lane {n} of the second position vector is used and not exported"))),
        };
        vertex.rate = word(out::USE_VTX_VRS_RATE, 1)?;
        // The viewport index is in the high half.
        vertex.layer = word(out::USE_VTX_RENDER_TARGET_INDX, 2)? & 0xffff;
        let rows = [take(self.field(out::VS_OUT_CCDIST0_VEC_ENA)), take(self.field(out::VS_OUT_CCDIST1_VEC_ENA))];
        let distances = |mask: u32| -> Result<Vec<f32>> {
            let each = (0..8).filter(|n| mask >> n & 1 == 1).map(|n| {
                let distance = rows[n / 4].and_then(|row| row[n % 4]);
                distance.ok_or_else(|| Error::malformed(format!("distance {n} is used and not exported")))
            });
            each.collect()
        };
        vertex.clip = distances(self.field(out::CLIP_DIST_ENA))?;
        vertex.cull = distances(self.field(out::CULL_DIST_ENA))?;
        Ok(())
    }

    /// By quad: the slot that holds the first vertex of its triangle. The hardware begins with any slot. Here the first
    /// vertex is in another slot than the first only for shaders that can tell, so that the results of others are
    /// rounded as usual.
    fn first_slots(&self, primitives: &[Primitive], quads: &[Quad]) -> Vec<usize> {
        let words = &self.pipeline.registers;
        let passed = |n| {
            words.field(spi_ps_input_cntl::FLAT_SHADE.nth(n)) == 1
                && words.field(spi_ps_input_cntl::OFFSET.nth(n)) & 0x20 != 0
        };
        let seen = self.field(rsrc1_ps::LOAD_PROVOKING_VTX) == 1 || (0..32).any(passed);
        let of = |quad: &Quad| match primitives.get(quad.primitive) {
            // Points and lines repeat a vertex.
            Some(Primitive { number, vertices: [a, b, c], .. }) if seen && c != a && c != b => *number as usize % 3,
            _ => 0,
        };
        quads.iter().map(of).collect()
    }

    /// Interpolation planes of every attribute of a primitive whose first vertex is in this slot, from `SPI_PS_INPUT_CNTL`.
    fn planes(&self, vertices: &[Vertex], primitive: &Primitive, slot: usize) -> Vec<[InterpolationPlane; 4]> {
        let turn = 3 - slot;
        let count = self.field(spi_ps_in_control::NUM_INTERP);
        let attribute = |n: u32| {
            let of = |field: reg::Field| self.pipeline.registers.field(field.nth(n));
            let offset = of(spi_ps_input_cntl::OFFSET);
            let flat = of(spi_ps_input_cntl::FLAT_SHADE) == 1;
            let halves = of(spi_ps_input_cntl::FP16_INTERP_MODE) == 1;
            if of(spi_ps_input_cntl::PT_SPRITE_TEX) == 1 && primitive.point {
                let one = 1f32.to_bits();
                return [[0, one, 0], [0, 0, one], [0; 3], [one, 0, 0]];
            }
            if of(spi_ps_input_cntl::PRIM_ATTR) == 1 {
                let own = self.of_primitives.get(&primitive.number).and_then(|slots| slots.get(&(offset as u8 & 0x1f)));
                return own.map_or([[POISON; 3]; 4], |value| value.map(|word| [word, POISON, POISON]));
            }
            std::array::from_fn(|channel| {
                if offset & 0x20 != 0 && !flat {
                    let default = of(spi_ps_input_cntl::DEFAULT_VAL);
                    let ones: u32 = [0b0000, 0b1000, 0b0111, 0b1111][default as usize & 3];
                    return [if ones >> channel & 1 == 1 { 1f32.to_bits() } else { 0 }, 0, 0];
                }
                // A flat value is the provoking vertex's, unless the slots are passed through.
                let in_order = flat && (offset & 0x20 == 0 || of(spi_ps_input_cntl::ROTATE_PC_PTR) == 1);
                let turn = if in_order { 0 } else { turn };
                let [p0, p1, p2] = [0, 1, 2].map(|slot| {
                    let vertex = primitive.vertices[(slot + turn) % 3];
                    let parameters = vertices.get(vertex).map(|vertex| &vertex.parameters);
                    let slot = parameters.and_then(|all| all.get(&(offset as u8 & 0x1f)));
                    slot.map_or(POISON, |slot| slot[channel])
                });
                // A flat attribute has raw values of the second and third vertex (K).
                if flat { [p0, p1, p2] } else { [p0, minus(p1, p0, halves), minus(p2, p0, halves)] }
            })
        };
        (0..count).map(attribute).collect()
    }

    fn fragment_wave(
        &mut self,
        stage: &StageCode,
        vertices: &[Vertex],
        primitives: &[Primitive],
        quads: &[Quad],
    ) -> Result<Vec<[Pixel; 4]>> {
        let exec = quads.iter().enumerate().map(|(n, quad)| u64::from(quad.covered) << (4 * n)).sum();
        let (mut wave, next) = self.wave(stage, exec)?;
        let mut parameters = Parameters::default();
        let slots = self.first_slots(primitives, quads);
        let (mut mask, mut provoking) = (0u32, 0u32);
        for (n, (quad, slot)) in quads.iter().zip(&slots).enumerate() {
            if n == 0 || quads[n - 1].primitive != quad.primitive {
                let primitive = primitives.get(quad.primitive);
                let primitive = primitive.ok_or_else(|| Error::bug("a quad of no primitive"))?;
                parameters.primitives.push(self.planes(vertices, primitive, *slot));
                mask |= if n == 0 { 0 } else { 1 << (15 + n) };
            }
            provoking |= (*slot as u32) << (2 * n);
        }
        wave.parameters = Some(Arc::new(parameters));
        let loads_provoking = self.field(rsrc1_ps::LOAD_PROVOKING_VTX) == 1;
        let provoking = loads_provoking.then_some(provoking);
        let loaded = [Some(mask), provoking, self.scratch_offset(stage)];
        for (register, value) in (next..).zip(loaded.into_iter().flatten()) {
            set_sgpr(&mut wave, register, value)?;
        }
        self.set_pixel_inputs(&mut wave, primitives, quads, &slots);
        if let Some(trace) = self.trace.as_deref_mut() {
            let found = followed_pixel(trace.follow(), primitives, quads);
            let name = found.map(|(_, [x, y], primitive)| format!("pixel {x}, {y} of primitive {primitive}"));
            trace.begin(found.map(|(lane, ..)| (0, lane)), name.unwrap_or_default(), wave.lanes())?;
        }
        let exported = self.run(wave)?.exports;
        self.pixels(&exported, quads)
    }

    /// Loads the VGPRs that `SPI_PS_INPUT_ADDR` allocates; those that `SPI_PS_INPUT_ENA` enables get their inputs.
    fn set_pixel_inputs(&self, wave: &mut Wave, primitives: &[Primitive], quads: &[Quad], slots: &[usize]) {
        let [places, enabled] = [spi_ps_input_addr::ENA, spi_ps_input_ena::ENA].map(|field| self.field(field));
        let all_bits = self.field(spi_baryc_cntl::FRONT_FACE_ALL_BITS) == 1;
        let corner = self.field(spi_baryc_cntl::POS_FLOAT_ULC) == 1;
        let at_sample = self.field(spi_baryc_cntl::POS_FLOAT_LOCATION) == 2;
        let inner = self.field(pa_sc_aa_config::COVERAGE_TO_SHADER_SELECT) == 1;
        let tested = self.field(db_shader_control::PRE_SHADER_DEPTH_COVERAGE_ENABLE) == 1;
        for (number, (quad, slot)) in quads.iter().zip(slots).enumerate() {
            for (n, lane) in quad.lanes.iter().enumerate() {
                let [x, y] = super::pixel(quad, n);
                let primitive = primitives.get(quad.primitive);
                let front = primitive.is_some_and(|p| p.front);
                let (centre, sample) = (&lane.centre, &lane.sample);
                let position = if at_sample { sample } else { centre };
                let [dx, dy] = if corner { [0.0; 2] } else { position.place };
                let coverage = match (inner, tested) {
                    (true, _) if lane.fully => lane.covered,
                    (true, _) => 0,
                    (false, true) => lane.live,
                    (false, false) => lane.covered,
                };
                // Per-sample shading sets the fragment size to one pixel.
                let rate = if quad.sample.is_some() { 0 } else { primitive.map_or(0, |p| p.rate & 0x3c) };
                let f = |x: f32| x.to_bits();
                // The weights of the second and third slot.
                let turned = |[i, j]: [f32; 2]| [[i, j], [1.0 - i - j, i], [j, 1.0 - i - j]][*slot];
                let pair = |weights| turned(weights).map(f).to_vec();
                let [i, j] = turned(centre.perspective);
                let inputs: [Vec<u32>; 16] = [
                    pair(sample.perspective),
                    pair(centre.perspective),
                    pair(lane.centroid.perspective),
                    vec![f(i / centre.w), f(j / centre.w), f(1.0 / centre.w)],
                    pair(sample.linear),
                    pair(centre.linear),
                    pair(lane.centroid.linear),
                    vec![POISON],
                    vec![f(x as f32 + dx)],
                    vec![f(y as f32 + dy)],
                    vec![f(position.depth)],
                    vec![f(position.w)],
                    vec![match (front, all_bits) {
                        (true, true) => u32::MAX,
                        (false, true) => 0,
                        (true, false) => f(1.0),
                        (false, false) => f(-1.0),
                    }],
                    // Layer and the other fields are 0.
                    vec![rate | quad.sample.unwrap_or(0) << 8],
                    vec![coverage],
                    vec![x | y << 16],
                ];
                let mut register = 0;
                for (input, values) in inputs.iter().enumerate().filter(|(input, _)| places >> input & 1 == 1) {
                    for (i, value) in values.iter().enumerate() {
                        if enabled >> input & 1 == 1 {
                            wave.set_vgpr(Vgpr(0), register + i, 4 * number + n, *value);
                        }
                    }
                    register += values.len();
                }
            }
        }
    }

    /// Decodes colours, depth and liveness from the exports.
    fn pixels(&self, exported: &[Export], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
        let formats = self.field(spi_shader_col_format::ALL);
        let mask = self.field(cb_shader_mask::ALL);
        // Export target n is the n-th location of the mask.
        let locations: Vec<u32> = (0..8).filter(|n| mask >> (4 * n) & 15 != 0).collect();
        let mut out = vec![<[Pixel; 4]>::default(); quads.len()];
        let lanes = |exec: u64| crate::wave::ones(exec).filter(|lane| lane / 4 < quads.len());
        let covered: u64 = quads.iter().enumerate().map(|(n, quad)| u64::from(quad.covered) << (4 * n)).sum();
        let facts = self.machine.isa().facts();
        let alive = live_pixels(exported, facts).map_or(covered, |live| live & covered);
        for export in exported {
            let values = |lane: usize| [0, 1, 2, 3].map(|n: usize| export.values[n][lane]);
            match export.target {
                0..=exports::MRT_LAST => {
                    let target = u32::from(export.target);
                    let (number, location) = (formats >> (4 * target) & 15, locations.get(target as usize));
                    let (Some(format), Some(&location)) = (export_format(number), location) else { continue };
                    let channels = (mask >> (4 * location) & 15) as u8;
                    fits(format, export, facts)?;
                    for lane in lanes(export.exec) {
                        let color = converted(format, values(lane));
                        out[lane / 4][lane % 4].colors.push((location, color, channels));
                    }
                }
                exports::MRTZ => {
                    for lane in lanes(export.exec) {
                        if self.field(db_shader_control::Z_EXPORT_ENABLE) == 1 {
                            out[lane / 4][lane % 4].depth = Some(f32::from_bits(export.values[0][lane]));
                        }
                        if self.field(db_shader_control::STENCIL_TEST_VAL_EXPORT) == 1 {
                            out[lane / 4][lane % 4].stencil = Some(export.values[1][lane] as u8);
                        }
                        if self.field(db_shader_control::MASK_EXPORT_ENABLE) == 1 {
                            out[lane / 4][lane % 4].mask = Some(export.values[2][lane]);
                        }
                    }
                }
                exports::DUAL | exports::DUAL_LAST => {
                    // Each has the pixels of one parity: the first colour in the even lane, the second in the odd one.
                    let parity = usize::from(export.target - exports::DUAL);
                    if formats >> 4 & 15 != formats & 15 {
                        return Err(Error::malformed("two colours that lanes swap have two formats"));
                    }
                    let Some(format) = export_format(formats & 15) else { continue };
                    fits(format, export, facts)?;
                    for lane in lanes(export.exec).filter(|lane| lane % 2 == parity) {
                        for (target, from) in [lane & !1, lane | 1].into_iter().enumerate() {
                            let Some(&location) = locations.get(target) else { continue };
                            let channels = (mask >> (4 * location) & 15) as u8;
                            out[lane / 4][lane % 4].colors.push((location, converted(format, values(from)), channels));
                        }
                    }
                }
                9 => {}
                other => return Err(Error::malformed(format!("a fragment shader exports to target {other}"))),
            }
        }
        let may_kill = [db_shader_control::KILL_ENABLE, db_shader_control::MASK_EXPORT_ENABLE].map(|f| self.field(f));
        if alive != covered && may_kill == [0, 0] {
            return Err(Error::malformed("pixels are killed, but DB_SHADER_CONTROL says that none are"));
        }
        for lane in lanes(alive) {
            out[lane / 4][lane % 4].alive = true;
        }
        Ok(out)
    }
}

/// The lanes whose pixels live, as the last export that says it says; `None` if none does.
fn live_pixels(exported: &[Export], facts: &FamilyFacts) -> Option<u64> {
    exported.iter().rfind(|e| if facts.valid_mask_bit { e.vm } else { e.done }).map(|e| e.exec)
}

/// Lane, position and primitive of the traced pixel, if one of these quads covers it.
fn followed_pixel(follow: Follow, primitives: &[Primitive], quads: &[Quad]) -> Option<(usize, [u32; 2], u32)> {
    let Follow::Pixel { at, primitive: wanted } = follow else { return None };
    quads.iter().enumerate().find_map(|(number, quad)| {
        let primitive = primitives.get(quad.primitive)?.number;
        let n = (0..4).find(|n| quad.covered >> n & 1 == 1 && super::pixel(quad, *n) == at)?;
        wanted.is_none_or(|wanted| wanted == primitive).then_some((4 * number + n, at, primitive))
    })
}

/// Byte offset of the entry for graphics scratch in the global table.
const GRAPHICS_SCRATCH: u64 = 0;

/// The difference of two parameters: one f32 each, or two f16.
fn minus(a: u32, b: u32, halves: bool) -> u32 {
    if !halves {
        return (f32::from_bits(a) - f32::from_bits(b)).to_bits();
    }
    let half = |shift: u32| {
        let [a, b] = [a, b].map(|bits| from_f16((bits >> shift) as u16));
        u32::from(to_f16(a - b, Round::Nearest)) << shift
    };
    half(0) | half(16)
}

impl Shaders for MachineShaders<'_> {
    fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>> {
        let stage = self.pipeline.stages.get(&Stage::Vertex).ok_or_else(|| Error::bug("no vertex stage"))?.clone();
        let mut out = Vec::with_capacity(ids.len());
        for some in ids.chunks(stage.wave.lanes() as usize) {
            out.extend(self.vertex_wave(&stage, some).map_err(|e| e.at("vertex"))?);
        }
        Ok(out)
    }

    fn primitives(
        &mut self,
        ids: &[VertexId],
        corners: &[[usize; 3]],
        kind: PrimitiveKind,
    ) -> Result<Option<AssembledPrimitives>> {
        let stage = self.pipeline.stages.get(&Stage::Vertex).filter(|stage| stage.hardware.runs_primitives()).cloned();
        let made = stage.map(|stage| self.primitive_shader(&stage, ids, corners, kind)).transpose();
        made.map_err(|e| e.at("vertex"))
    }

    fn fragments(&mut self, vertices: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
        let Some(stage) = self.pipeline.stages.get(&Stage::Fragment).cloned() else {
            return Ok(vec![std::array::from_fn(|_| Pixel { alive: true, ..Pixel::default() }); quads.len()]);
        };
        let mut out = Vec::with_capacity(quads.len());
        for some in quads.chunks(stage.wave.lanes() as usize / 4) {
            let shaded = self.fragment_wave(&stage, vertices, primitives, some);
            out.extend(shaded.map_err(|e| e.at("fragment"))?);
        }
        Ok(out)
    }

    fn early_depth(&self) -> bool {
        self.field(db_shader_control::DEPTH_BEFORE_SHADER) == 1
    }

    fn numbers_primitives(&self) -> bool {
        self.field(vgt_primitiveid_en::PRIMITIVEID_EN) == 1
    }

    fn discards(&self) -> bool {
        self.field(pa_cl_clip_cntl::DX_RASTERIZATION_KILL) == 1
    }

    fn per_sample(&self) -> bool {
        self.field(pa_sc_mode_cntl_1::PS_ITER_SAMPLE) == 1
    }

    fn view(&mut self, number: u32) {
        let others = self.tables.others.iter_mut();
        others.filter(|(what, _)| *what == pal::VIEW_ID).for_each(|(_, value)| *value = number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave::LANES;
    use dovetail_base::target::Gpu;

    #[test]
    fn the_export_with_the_mask_says_which_pixels_live() {
        let sent = |exec, done, vm| {
            let values = Box::new([[0; LANES]; 4]);
            Export { target: 0, enabled: 0, compr: false, done, vm, exec, values }
        };
        let live = |name: &str, exported: &[Export]| live_pixels(exported, name.parse::<Gpu>().expect("known").facts());
        let masked = [sent(15, false, false), sent(7, false, true), sent(3, true, false)];
        assert_eq!(live("gfx1030", &masked), Some(7));
        assert_eq!(live("gfx1100", &masked), Some(3));
        assert_eq!(live("gfx1100", &masked[..2]), None);
    }
}
