//! Plans parameter exports: the slot of each exported vector, and the `SPI_PS_INPUT_CNTL` word of each attribute
//! (pal-abi 9).
//!
//! The fragment shader numbers its inputs without gaps, and the vertex shader exports exactly the vectors that it
//! reads. An attribute needs no export if it has no producer, or if all channels read are constants that the rasterizer
//! has built in. Slots are numbered without gaps, both by an epilog and by a body with its own exports: the hardware
//! would wait for a slot that is counted but not exported, or read an earlier wave's value from it.

use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::target::ParameterPath;
use dovetail_metadata::interface::{FragmentInput, ParamSource, Semantic, VertexParam};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Number of attributes that the rasterizer has.
pub const MAX_ATTRIBUTES: usize = 32;

/// Most plans have no more attributes: these need no memory of their own.
const MOST_PLANNED: usize = 8;

/// Parameters from the vertex shader to the fragment shader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamPlan {
    /// Exported vectors, each with its slot.
    pub exports: SmallVec<[ParamExport; MOST_PLANNED]>,
    /// The fragment shader's attributes, by number.
    pub attributes: SmallVec<[Attribute; MOST_PLANNED]>,
    /// Number of slots; all of them are exported.
    pub slots: u32,
    /// The slot of the primitive id, where primitives have parameters of their own: after those of the vertices, of which there
    /// is always room for one.
    pub primitive_id: Option<u8>,
}

/// An exported vector of four channels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ParamExport {
    /// Number of its `param` target.
    pub slot: u8,
    /// Source of each channel; `None` if it is not written or not read. The body exports either a whole vector or none
    /// of its channels.
    pub channels: [Option<ParamSource>; 4],
}

impl ParamExport {
    /// Whether the body itself exports this vector.
    pub fn by_body(&self) -> bool {
        self.channels.contains(&Some(ParamSource::Exported))
    }
}

/// Source of an attribute's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// An exported slot.
    Slot(u8),
    /// A slot of the primitive.
    Primitive(u8),
    /// One of the rasterizer's constant vectors.
    Default(DefaultVector),
    /// The point sprite coordinate.
    PointCoord,
}

/// A constant vector that needs no export; the value is its hardware number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultVector {
    /// (0, 0, 0, 0)
    Zero = 0,
    /// (0, 0, 0, 1)
    AlphaOne = 1,
    /// (1, 1, 1, 0)
    ColorOne = 2,
    /// (1, 1, 1, 1)
    One = 3,
}

impl DefaultVector {
    const ALL: [(Self, [u32; 4]); 4] = {
        const ONE: u32 = 1f32.to_bits();
        [
            (Self::Zero, [0; 4]),
            (Self::AlphaOne, [0, 0, 0, ONE]),
            (Self::ColorOne, [ONE, ONE, ONE, 0]),
            (Self::One, [ONE; 4]),
        ]
    };

    /// The first vector with these bits in the channels that are read.
    fn matching(wanted: &[Option<u32>; 4]) -> Option<Self> {
        let agrees = |vector: &[u32; 4]| wanted.iter().zip(vector).all(|(want, have)| want.is_none_or(|w| w == *have));
        Self::ALL.iter().find(|(_, vector)| agrees(vector)).map(|(name, _)| *name)
    }
}

/// One attribute of the fragment shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Source of its values.
    pub supply: Supply,
    /// It is not interpolated.
    pub flat: bool,
    /// The shader reads the values of all three vertices.
    pub per_vertex: bool,
    /// It is interpolated as 16-bit floats.
    pub half: bool,
}

impl Attribute {
    /// Offset of an attribute that reads no slot.
    const NO_SLOT: u32 = 0x20;

    /// Its `SPI_PS_INPUT_CNTL` word.
    pub fn control_word(self) -> u32 {
        const DEFAULT_VAL: u32 = 8;
        const FLAT_SHADE: u32 = 1 << 10;
        const PRIM_ATTR: u32 = 1 << 12;
        const ROTATE_PC_PTR: u32 = 1 << 11;
        const PT_SPRITE_TEX: u32 = 1 << 17;
        const FP16_INTERP_MODE: u32 = 1 << 19;
        const ATTR0_VALID: u32 = 1 << 24;
        match self.supply {
            Supply::Slot(slot) => {
                // Passed through, in the order of the vertices.
                let pass_through = if self.per_vertex { Self::NO_SLOT | ROTATE_PC_PTR } else { 0 };
                let flat = if self.flat || self.per_vertex { FLAT_SHADE } else { 0 };
                let half = if self.half && flat == 0 { FP16_INTERP_MODE | ATTR0_VALID } else { 0 };
                u32::from(slot) | pass_through | flat | half
            }
            Supply::Primitive(slot) => u32::from(slot) | PRIM_ATTR,
            // A default vector has no vertices to select from, so it is never flat.
            Supply::Default(vector) => Self::NO_SLOT | (vector as u32) << DEFAULT_VAL,
            Supply::PointCoord => Self::NO_SLOT | PT_SPRITE_TEX,
        }
    }
}

/// `SPI_PS_INPUT_CNTL` words from 0 on.
pub type Controls = SmallVec<[u32; MOST_PLANNED]>;

/// The parameters that a vertex shader can export, one vector per semantic: sorted once, then matched with many
/// fragment shaders.
#[derive(Clone, Debug, Default)]
pub struct ParamVectors(Vec<(Semantic, [Option<ParamSource>; 4])>);

impl ParamVectors {
    /// Sorts the components of a vertex shader's parameters.
    ///
    /// # Errors
    /// Malformed: a parameter given twice, or in a channel that does not exist.
    pub fn new(params: &[VertexParam]) -> Result<Self> {
        // The components of a vector usually follow each other.
        let count = params.chunk_by(|one, next| one.semantic == next.semantic).count();
        let mut vectors: Vec<(Semantic, [Option<ParamSource>; 4])> = Vec::with_capacity(count);
        for param in params {
            let semantic = param.semantic;
            let at = vectors.iter().position(|(other, _)| *other == semantic).unwrap_or(vectors.len());
            if at == vectors.len() {
                vectors.push((semantic, [None; 4]));
            }
            for half in 0..param.ty.dwords() {
                let channel = usize::from(param.component) + half as usize;
                let place = vectors.get_mut(at).and_then(|(_, channels)| channels.get_mut(channel));
                let place = place.ok_or_else(|| Error::malformed(format!("{semantic:?} has no channel {channel}")))?;
                let source = match param.source {
                    // The second dword of a 64-bit value is in the next register.
                    ParamSource::Vgpr(first) => ParamSource::Vgpr(first.saturating_add(half)),
                    ParamSource::Constant(_) if half == 1 => ParamSource::Constant(0),
                    other => other,
                };
                if place.replace(source).is_some() {
                    return Err(Error::malformed(format!("{semantic:?} channel {channel} is written twice")));
                }
            }
        }
        Ok(Self(vectors))
    }

    /// The number of vectors.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Sources of a position vector that a body returns.
    pub fn position(&self, number: u32) -> [Option<ParamSource>; 4] {
        let is = |semantic: &Semantic| matches!(semantic, Semantic::Position(n) if u32::from(*n) == number);
        self.0.iter().find(|(semantic, _)| is(semantic)).map_or([None; 4], |(_, channels)| *channels)
    }

    /// Sources of the channels of a vector that are read.
    fn channels(&self, semantic: Semantic, read: u8) -> [Option<ParamSource>; 4] {
        let found = self.0.iter().find(|(other, _)| *other == semantic);
        let mut channels = found.map_or([None; 4], |(_, channels)| *channels);
        for (channel, place) in channels.iter_mut().enumerate() {
            if read >> channel & 1 == 0 {
                *place = None;
            }
        }
        channels
    }
}

impl ParamPlan {
    /// Plans the exports of `params`, the vertex shader's outputs, for `inputs`, the fragment shader's inputs.
    ///
    /// # Errors
    /// Needs a full compile: more attributes than the rasterizer has, or one that a vertex body compiled on its own
    /// cannot export.
    pub fn new(path: ParameterPath, inputs: &[FragmentInput], params: &ParamVectors) -> Result<Self> {
        let mut plan = Self::default();
        let of_primitive =
            |input: &FragmentInput| path == ParameterPath::Ring && input.semantic == Semantic::PrimitiveId;
        if inputs.len() > MAX_ATTRIBUTES {
            let count = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
            return Err(Error::needs_full(FullCompile::TooManyValues { what: "fragment inputs".into(), count }));
        }
        let mut assigned: SmallVec<[(Semantic, u8); MOST_PLANNED]> = SmallVec::new();
        for input in inputs {
            let same = inputs.iter().filter(|other| other.semantic == input.semantic);
            let read = same.fold(0, |all, i| all | i.channels);
            let channels = params.channels(input.semantic, read);
            if of_primitive(input) {
                // Its slot is known in the end.
                plan.attributes.push(Attribute {
                    supply: Supply::Primitive(0),
                    flat: true,
                    per_vertex: false,
                    half: false,
                });
                continue;
            }
            check_made(input.semantic, &channels)?;
            let shared = assigned.iter().find(|(semantic, _)| *semantic == input.semantic);
            let supply = match (shared, default_for(&channels, input)) {
                (Some((_, slot)), _) => Supply::Slot(*slot),
                (None, _) if input.semantic == Semantic::PointCoord => Supply::PointCoord,
                (None, Some(vector)) => Supply::Default(vector),
                (None, None) => {
                    let slot = u8::try_from(plan.exports.len()).unwrap_or(u8::MAX);
                    plan.exports.push(ParamExport { slot, channels });
                    assigned.push((input.semantic, slot));
                    Supply::Slot(slot)
                }
            };
            let half = input.ty.bits == 16;
            plan.attributes.push(Attribute { supply, flat: input.flat, per_vertex: input.per_vertex, half });
        }
        plan.slots = plan.exports.len() as u32;
        let slot = plan.exports.len().max(1) as u8;
        for attribute in &mut plan.attributes {
            if let Supply::Primitive(own) = &mut attribute.supply {
                *own = slot;
                plan.primitive_id = Some(slot);
            }
        }
        Ok(plan)
    }

    /// The `SPI_PS_INPUT_CNTL` words from 0 up. The loader needs at least one, even without attributes.
    pub fn control_words(&self) -> Controls {
        if self.attributes.is_empty() {
            return Controls::from_slice(&[0]);
        }
        self.attributes.iter().map(|a| a.control_word()).collect()
    }

    /// The exports of an epilog.
    pub fn epilog_exports(&self) -> impl Iterator<Item = &ParamExport> {
        self.exports.iter().filter(|export| !export.by_body())
    }
}

/// Without a geometry shader the vertex shader must export the primitive id, where primitives have no parameters. A body
/// compiled on its own does not, and no constant can replace it. Other unwritten inputs are zero or undefined.
fn check_made(semantic: Semantic, channels: &[Option<ParamSource>; 4]) -> Result<()> {
    if semantic == Semantic::PrimitiveId && channels.iter().all(Option::is_none) {
        let item = "primitive id in the fragment shader".to_owned();
        return Err(Error::needs_full(FullCompile::State { item }));
    }
    Ok(())
}

/// The default vector for `input`, if all channels that it reads are unwritten or match the vector's constants.
fn default_for(channels: &[Option<ParamSource>; 4], input: &FragmentInput) -> Option<DefaultVector> {
    let mut wanted = [None; 4];
    for (channel, want) in channels.iter().zip(&mut wanted) {
        *want = match channel {
            None => None,
            Some(ParamSource::Constant(bits)) => Some(*bits),
            Some(ParamSource::Vgpr(_) | ParamSource::Exported) => return None,
        };
    }
    // Explicit per-vertex reads bypass the stage that inserts defaults.
    let written = wanted.iter().any(Option::is_some);
    if input.per_vertex && written { None } else { DefaultVector::matching(&wanted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_metadata::interface::ComponentType;

    const ONE: u32 = 1f32.to_bits();

    fn input(location: u32, channels: u8) -> FragmentInput {
        let semantic = Semantic::Location(location);
        FragmentInput { semantic, channels, flat: false, per_vertex: false, ty: ComponentType::F32 }
    }

    fn plan(inputs: &[FragmentInput], params: &[VertexParam]) -> Result<ParamPlan> {
        ParamPlan::new(ParameterPath::Exports, inputs, &ParamVectors::new(params)?)
    }

    fn constants(location: u32, bits: &[u32]) -> Vec<VertexParam> {
        let components = (0u8..).zip(bits);
        let param = |(component, bits): (u8, &u32)| VertexParam {
            semantic: Semantic::Location(location),
            component,
            ty: ComponentType::F32,
            source: ParamSource::Constant(*bits),
        };
        components.map(param).collect()
    }

    #[test]
    fn constants_of_the_rasterizer_cost_nothing() {
        let default = |bits: &[u32], channels| {
            let plan = plan(&[input(0, channels)], &constants(0, bits)).expect("plan");
            assert_eq!(plan.exports.is_empty(), plan.slots == 0);
            plan.exports.is_empty().then(|| plan.control_words()[0])
        };
        assert_eq!(default(&[0, 0, 0, 0], 15), Some(0x020));
        assert_eq!(default(&[0, 0, 0, ONE], 15), Some(0x120));
        assert_eq!(default(&[ONE, ONE, ONE, 0], 15), Some(0x220));
        assert_eq!(default(&[ONE, ONE, ONE, ONE], 15), Some(0x320));
        assert_eq!(default(&[ONE, 0, 0, 0], 15), None);
        // Only channels that are read matter, and unwritten ones may be anything.
        assert_eq!(default(&[0, ONE, 7, 7], 1), Some(0x020));
        assert_eq!(default(&[ONE], 15), Some(0x220));
        assert_eq!(default(&[0x8000_0000], 1), None);
        assert_eq!(default(&[1], 1), None);
    }

    #[test]
    fn inputs_of_one_meaning_share_a_slot() {
        let params = [VertexParam { source: ParamSource::Vgpr(3), ..constants(4, &[0])[0].clone() }];
        let flat = FragmentInput { flat: true, ..input(4, 1) };
        let plan = plan(&[input(4, 3), flat], &params).expect("plan");
        let channels = [Some(ParamSource::Vgpr(3)), None, None, None];
        assert_eq!(plan.exports[..], [ParamExport { slot: 0, channels }]);
        assert_eq!(plan.control_words()[..], [0, 0x400]);
    }

    #[test]
    fn a_body_that_exports_leaves_no_slot_out() {
        let exported = |n| VertexParam { source: ParamSource::Exported, ..constants(n, &[0])[0].clone() };
        let flat = FragmentInput { flat: true, ..input(4, 1) };
        // The first input has no producer, and the third is a default vector.
        let inputs = [input(9, 1), input(4, 1), input(2, 1), flat, input(7, 1)];
        let params = [vec![exported(4), exported(7)], constants(2, &[ONE])].concat();
        let plan = plan(&inputs, &params).expect("plan");
        assert_eq!(plan.control_words()[..], [0x20, 0, 0x220, 0x400, 1]);
        assert_eq!((plan.slots, plan.epilog_exports().count()), (2, 0));
    }

    #[test]
    fn a_primitive_id_that_nobody_passes_on_needs_the_whole_pipeline() {
        let input = FragmentInput { semantic: Semantic::PrimitiveId, flat: true, ..input(0, 1) };
        let error = plan(std::slice::from_ref(&input), &[]).expect_err("nobody writes it");
        assert!(error.full_compile().is_some());
        let param = VertexParam { semantic: Semantic::PrimitiveId, ..constants(0, &[0])[0].clone() };
        let param = VertexParam { source: ParamSource::Exported, ..param };
        assert!(plan(&[input], &[param]).is_ok());
    }

    #[test]
    fn nothing_to_interpolate_still_has_a_word() {
        let plan = plan(&[], &constants(0, &[5])).expect("plan");
        assert_eq!((plan.control_words().as_slice(), plan.slots), (&[0][..], 0));
    }

    #[test]
    fn contradictions_are_refused() {
        let twice = [constants(0, &[5]), constants(0, &[6])].concat();
        assert!(plan(&[input(0, 1)], &twice).is_err());
        let outside = [VertexParam { component: 4, ..constants(0, &[5])[0].clone() }];
        assert!(plan(&[input(0, 1)], &outside).is_err());
        let many: Vec<FragmentInput> = (0..33).map(|location| input(location, 1)).collect();
        let error = plan(&many, &[]).expect_err("33 attributes");
        assert!(error.full_compile().is_some());
    }
}
