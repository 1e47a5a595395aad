//! Primitive shaders (NGG), pass-through: forms groups of vertices and primitives, as the geometry engine does, runs their waves,
//! and takes the primitives that they export (pal-abi 11).
//!
//! | rule | broken by |
//! | --- | --- |
//! | the first wave of a group asks once for room, before it exports anything; none does if the registers say so | a second request, a request of another wave, other numbers |
//! | the lanes that have a primitive export it once, the last export of its kind | missing, more or other lanes |
//! | the indices of a primitive are those of vertices of the group | an index beyond them |
//! | where parameters have to be in the attribute ring first, everything is stored when the last position is exported | an outstanding store |
//! | the registers and the draw agree about the kind of primitives | another kind |
//!
//! EXEC at the start of a wave is not what the shader needs, and registers that nothing sets are poison.

use super::waves::{MachineShaders, exports};
use super::{AssembledPrimitives, VertexId};
use crate::dispatch::set_sgpr;
use crate::fixed_function::Export;
use crate::load::StageCode;
use crate::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_isa::Vgpr;
use dovetail_metadata::registers::{
    rsrc1_gs, rsrc2_gs, spi_vs_out_config, vgt_gs_onchip_cntl, vgt_gs_out_prim_type, vgt_shader_stages_en,
};
use dovetail_state::PrimitiveKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// Registers at entry: SGPRs of the group, of the wave, and with the scratch offset or the place in the attribute ring.
const GROUP_INFO: u8 = 2;
const WAVE_INFO: u8 = 3;
const SCRATCH_OFFSET: u8 = 5;
const RING_PLACE: u8 = 5;
/// VGPR with the primitive.
const PRIMITIVE: Vgpr = Vgpr(0);
/// `s_sendmsg` that asks for room.
const GS_ALLOC_REQ: u16 = 9;
/// The most vertices, and primitives, of a group.
const MOST: usize = 256;
/// An exported primitive that is not to be drawn.
const NULL: u32 = 1 << 31;

/// Parameters by their slots.
pub(super) type Slots = BTreeMap<u8, [u32; 4]>;

/// Vertices and primitives that are worked on together.
#[derive(Default)]
struct Group {
    /// Indices of vertices of the draw.
    vertices: Vec<usize>,
    /// The number of each primitive, and its vertices in this group.
    primitives: Vec<(u32, [usize; 3])>,
}

impl Group {
    fn add(&mut self, number: u32, corners: [usize; 3]) {
        let corners = corners.map(|corner| {
            let known = self.vertices.iter().position(|vertex| *vertex == corner);
            known.unwrap_or_else(|| {
                self.vertices.push(corner);
                self.vertices.len() - 1
            })
        });
        self.primitives.push((number, corners));
    }
}

/// Groups of at most so many vertices and primitives, but of at least one primitive.
fn groups(corners: &[[usize; 3]], [vertices, primitives]: [usize; 2]) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for (number, corners) in (0..).zip(corners) {
        let mut new = *corners;
        new.sort_unstable();
        let fits = |group: &Group| {
            let added =
                (0..3).filter(|n| (*n == 0 || new[*n] != new[n - 1]) && !group.vertices.contains(&new[*n])).count();
            group.primitives.len() < primitives && group.vertices.len() + added <= vertices
        };
        if !out.last().is_some_and(fits) {
            out.push(Group::default());
        }
        if let Some(group) = out.last_mut() {
            group.add(number, *corners);
        }
    }
    out
}

/// The first `count` lanes.
fn lanes(count: usize) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

impl MachineShaders<'_> {
    /// Runs a primitive shader for primitives of these vertices.
    pub(super) fn primitive_shader(
        &mut self,
        stage: &StageCode,
        ids: &[VertexId],
        corners: &[[usize; 3]],
        kind: PrimitiveKind,
    ) -> Result<AssembledPrimitives> {
        let exported = self.field(vgt_gs_out_prim_type::OUTPRIM_TYPE);
        if exported != kind.number() {
            return Err(Error::malformed(format!("a draw of {kind:?} with VGT_GS_OUT_PRIM_TYPE {exported}")));
        }
        let limits = match self.limits.group {
            Some(limit) => [limit; 2],
            None => [vgt_gs_onchip_cntl::ES_VERTS_PER_SUBGRP, vgt_gs_onchip_cntl::GS_PRIMS_PER_SUBGRP]
                .map(|field| self.field(field) as usize),
        };
        let (mut vertices, mut primitives) = (Vec::new(), Vec::new());
        for group in groups(corners, limits.map(|limit| limit.clamp(1, MOST))) {
            let first = vertices.len();
            let ids: Vec<VertexId> = group.vertices.iter().filter_map(|vertex| ids.get(*vertex)).copied().collect();
            let (made, drawn) = self.run_group(stage, &ids, &group, kind)?;
            vertices.extend(made);
            primitives.extend(drawn.into_iter().map(|(number, corners)| (number, corners.map(|n| first + n))));
        }
        Ok((vertices, primitives))
    }

    fn run_group(
        &mut self,
        stage: &StageCode,
        ids: &[VertexId],
        group: &Group,
        kind: PrimitiveKind,
    ) -> Result<AssembledPrimitives> {
        let size = stage.wave.lanes() as usize;
        let count = ids.len().max(group.primitives.len());
        let waves = count.div_ceil(size);
        let mut vertices = Vec::with_capacity(ids.len());
        let mut primitives = Vec::new();
        let place = match &mut self.ring {
            Some(ring) => Some(ring.begin(self.machine)?),
            None => None,
        };
        let silent = self.field(vgt_shader_stages_en::PRIMGEN_PASSTHRU_NO_MSG) == 1;
        for number in 0..waves {
            let some = |all: usize| (number * size).min(all)..((number + 1) * size).min(all);
            let (ids_here, here) = (&ids[some(ids.len())], &group.primitives[some(group.primitives.len())]);
            // Neither all lanes nor those of the vertices.
            let (mut wave, _) = self.wave(stage, 0x5a5a_a5a5_9669_6996 >> number & lanes(size))?;
            set_sgpr(&mut wave, GROUP_INFO, (ids.len() << 12 | group.primitives.len() << 22) as u32)?;
            set_sgpr(&mut wave, WAVE_INFO, (ids_here.len() | here.len() << 8 | number << 24 | waves << 28) as u32)?;
            if let Some(place) = place {
                set_sgpr(&mut wave, RING_PLACE, place)?;
            } else if let Some(offset) = self.scratch_offset(stage) {
                set_sgpr(&mut wave, SCRATCH_OFFSET, offset)?;
            }
            let facts = self.machine.isa().facts();
            let entry = facts.primitive_entry;
            // A bit for an edge is between the indices.
            let step = facts.primitive_index_bits + 1;
            let has_primitive_id = self.field(rsrc1_gs::GS_VGPR_COMP_CNT) >= entry.primitive_id_count();
            for (lane, (number, [a, b, c])) in here.iter().enumerate() {
                wave.set_vgpr(PRIMITIVE, 0, lane, (a | b << step | c << (2 * step)) as u32);
                if has_primitive_id {
                    wave.set_vgpr(Vgpr(entry.primitive_id), 0, lane, *number);
                }
            }
            let has_instance = self.field(rsrc2_gs::ES_VGPR_COMP_CNT) >= entry.instance_id_count();
            for (lane, id) in ids_here.iter().enumerate() {
                wave.set_vgpr(Vgpr(entry.vertex_id), 0, lane, id.vertex);
                if has_instance {
                    wave.set_vgpr(Vgpr(entry.instance_id), 0, lane, id.instance);
                }
            }
            self.begin_trace(ids_here, &wave)?;
            let wave = self.run(wave)?;
            let wanted = (number == 0 && !silent).then_some((ids.len() | group.primitives.len() << 12) as u32);
            messages(&wave, wanted)?;
            let (sent, rest): (Vec<Export>, Vec<Export>) =
                wave.exports.into_iter().partition(|export| export.target == exports::PRIM);
            for (word, (number, _)) in exported_primitives(&sent, here.len())?.into_iter().zip(here) {
                if word & NULL != 0 {
                    continue;
                }
                let index = |n: u32| (word >> (n * step) & ((1 << facts.primitive_index_bits) - 1)) as usize;
                let corners = match kind {
                    PrimitiveKind::Points => [index(0); 3],
                    PrimitiveKind::Lines => [index(0), index(1), index(1)],
                    PrimitiveKind::Triangles => [0, 1, 2].map(index),
                };
                if let Some(beyond) = corners.into_iter().find(|n| *n >= ids.len()) {
                    return Err(Error::malformed(format!(
                        "a primitive of vertex {beyond} in a group of {}",
                        ids.len()
                    )));
                }
                primitives.push((*number, corners));
            }
            if let Some(more) = rest.iter().find(|export| export.exec & !lanes(ids_here.len()) != 0) {
                return Err(Error::malformed(format!(
                    "export {} of lanes without a vertex: {:#x}",
                    more.target, more.exec
                )));
            }
            vertices.extend(self.exported_vertices(&rest, ids_here.len())?);
        }
        if let Some(ring) = &self.ring {
            // Those of primitives follow those of vertices.
            let (own, all) = (self.slots(), self.slots() + self.field(spi_vs_out_config::PRIM_EXPORT_COUNT));
            let stored = |n: usize, slots: Range<u32>| -> Result<Slots> {
                slots.map(|slot| Ok((slot as u8, ring.parameter(self.machine, n, slot, all)?))).collect()
            };
            for (n, vertex) in vertices.iter_mut().enumerate() {
                vertex.parameters = stored(n, 0..own)?;
            }
            for (n, (number, _)) in group.primitives.iter().enumerate() {
                let own = stored(n, own..all)?;
                self.of_primitives.insert(*number, own);
            }
        }
        Ok((vertices, primitives))
    }
}

/// Checks the messages of a wave: with `wanted`, one request for room with this value.
fn messages(wave: &Wave, wanted: Option<u32>) -> Result<()> {
    let right = match (&wave.messages[..], wanted) {
        ([message], Some(value)) => (message.number, message.value, message.after) == (GS_ALLOC_REQ, value, 0),
        (all, wanted) => all.is_empty() && wanted.is_none(),
    };
    let messages = &wave.messages;
    right.then_some(()).ok_or_else(|| Error::malformed(format!("messages {messages:x?}, and room for {wanted:x?}")))
}

/// The primitives that the first lanes have exported.
fn exported_primitives(exports: &[Export], count: usize) -> Result<Vec<u32>> {
    match exports {
        [] if count == 0 => Ok(Vec::new()),
        [one] if one.done && one.exec == lanes(count) && one.enabled == 1 => Ok(one.values[0][..count].to_vec()),
        all => {
            let masks: Vec<u64> = all.iter().map(|export| export.exec).collect();
            Err(Error::malformed(format!("primitives of lanes {masks:x?}, and {count} lanes have one")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_vertices_and_have_at_least_one_primitive() {
        let strip = [[0, 1, 2], [1, 3, 2], [2, 3, 4]];
        let of =
            |limits| groups(&strip, limits).iter().map(|g| (g.vertices.len(), g.primitives.len())).collect::<Vec<_>>();
        assert_eq!(of([5, 3]), [(5, 3)]);
        assert_eq!(of([4, 3]), [(4, 2), (3, 1)]);
        assert_eq!(of([1, 256]), [(3, 1), (3, 1), (3, 1)]);
        assert_eq!(of([256, 1]), [(3, 1), (3, 1), (3, 1)]);
        assert_eq!(groups(&strip, [4, 3])[1].primitives, [(2, [0, 1, 2])]);
    }
}
