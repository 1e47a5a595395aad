//! Fragment inputs: numbers attributes without gaps, and interpolates them (lowering-llvm 5.1, 5.3).
//!
//! | input | becomes |
//! |---|---|
//! | flat | `interp_mov` P0 |
//! | of one vertex | `interp_mov` P0, P10, P20 of an attribute whose vertex values are passed through |
//! | centre, centroid, sample | `interp` with that (i, j) pair; the centroid is the centre if the wave says so |
//! | barycentric coordinates | the pair itself, and 1 minus its sum; (i/w, j/w, 1/w) |
//! | at an offset, at a sample | `interp` with a pair shifted by its derivatives; with perspective, (i/w, j/w, 1/w) is shifted |
//!
//! The hardware keeps the vertices of a triangle in three slots, to which P0, P10 (or i) and P20 (or j) belong, and begins
//! with any of the three: vertex n is in slot (n + p) mod 3. Barycentric coordinates are selected by p, which an SGPR has for
//! each quad of the wave (`SPI_SHADER_PGM_RSRC1_PS.LOAD_PROVOKING_VTX`; source: Mesa's `radv_nir_lower_fs_barycentric.c`). Values
//! that are passed through are turned back by the hardware (`SPI_PS_INPUT_CNTL.ROTATE_PC_PTR`).
//!
//! An attribute channel always has 32 bits: f16 inputs are interpolated as f32 and then rounded, small integers are the
//! low bits, 64-bit values are two channels. The interface lists attributes in the order of their numbers.

use super::context::{PassContext, dword_places};
use super::entry_values::{Entry, System};
use super::lower_builtins::sample_offset;
use super::lower_descriptors::reloc;
use super::prelude::Prelude;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::List;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    AluOp, AmdOp, Bits, Builder, BuiltIn, DerivativeKind, Inst, Interp, InterpPlace, LaneOp, NumericKind, Op, Shader,
    Type, Value,
};
use dovetail_metadata::interface::{ComponentType, FragmentInput, Semantic};
use dovetail_reloc::symbol::LinkSymbol;
use dovetail_state::PrimitiveKind;
use smallvec::{SmallVec, smallvec};

/// Limit of the hardware's attributes.
const MAX_ATTRIBUTES: usize = 32;
/// How many of them, the first, can be point coordinates or be passed through: the control words of the others lack the bits
/// (Mesa's `gfx103.json`).
const MAX_SPECIAL: usize = 20;

/// Selector of `interp_mov` for a flat value, which the hardware takes from the provoking vertex.
const P0: u8 = 2;
/// Selectors by slot: P0, P10, P20.
const SLOTS: [u8; 3] = [P0, 0, 1];

/// Two channels with equal fields belong to one attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attribute {
    pub(super) semantic: Semantic,
    flat: bool,
    per_vertex: bool,
    pub(super) ty: ComponentType,
}

/// A read of one channel, or for 64 bits of two, of which this is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) attribute: Attribute,
    channel: u8,
    pub(super) interp: Interp,
}

/// Lowers every attribute of a fragment shader.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    // Sorted, each with the channels that are read; the place in the list is the number.
    let mut attributes = List::<(Attribute, u8)>::default();
    let place_of = |attributes: &[(Attribute, u8)], attribute: Attribute| {
        attributes.binary_search_by_key(&attribute.order(), |(known, _)| known.order())
    };
    for inst in shader.live_insts() {
        let Some(read) = read(shader, inst) else { continue };
        for (attribute, channel) in channels(shader, inst, read) {
            match place_of(&attributes, attribute) {
                Ok(at) => attributes[at].1 |= 1 << channel,
                Err(at) => attributes.insert(at, (attribute, 1 << channel)),
            }
        }
    }
    if attributes.len() > MAX_ATTRIBUTES {
        let detail = format!("{} attributes, the hardware has {MAX_ATTRIBUTES}", attributes.len());
        return Err(Error::unsupported("fragment inputs", detail));
    }
    let special = attributes.iter().filter(|(attribute, _)| attribute.is_special()).count();
    if special > MAX_SPECIAL {
        let detail = format!("{special} that are not interpolated, the hardware has {MAX_SPECIAL}");
        return Err(Error::unsupported("inputs of each vertex", detail));
    }
    let interface = cx.interface.kind.fragment_mut();
    let interface = interface.ok_or_else(|| Error::bug("fragment inputs of another stage"))?;
    interface.inputs = attributes
        .iter()
        .map(|(a, channels)| FragmentInput {
            semantic: a.semantic,
            channels: *channels,
            flat: a.flat,
            per_vertex: a.per_vertex,
            ty: a.ty,
        })
        .collect();

    let mut centroid_may_be_center = [false; 2];
    for (may_be, [center, centroid]) in centroid_may_be_center
        .iter_mut()
        .zip([[System::PerspCenter, System::PerspCentroid], [System::LinearCenter, System::LinearCentroid]])
    {
        *may_be = uses_pair(shader, center) && uses_pair(shader, centroid);
    }
    let shared = Shared { centroid_may_be_center, wave: cx.request.wave };
    let mut prelude = Prelude::default();
    let entry = &cx.entry;
    rewrite(shader, |b, inst| {
        let mut at = At { b, p: &mut prelude, entry, shared: &shared };
        if let Some((interp, vertex)) = weight(inst) {
            return at.weight(interp, &inst.args, vertex).map(Rewrite::Value);
        }
        if let Op::LoadBuiltIn { builtin: BuiltIn::BaryCoordPullModel, component, .. } = inst.op {
            return at.over_w(component).map(Rewrite::Value);
        }
        let Some(read) = read(at.b.shader, inst) else { return Ok(Rewrite::Keep) };
        let channels = channels(at.b.shader, inst, read);
        let pair = at.pair(read.interp, &inst.args)?;
        let mut dwords: SmallVec<[Value; 2]> = SmallVec::new();
        for (attribute, channel) in channels {
            let number = place_of(&attributes, attribute).map_err(|_| Error::bug("an attribute without a number"))?;
            dwords.push(at.channel(number as u32, channel, read.interp, pair)?);
        }
        let b = at.b;
        let ty = inst.result.map_or(Type::B32, |v| b.ty(v));
        Ok(Rewrite::Value(value_of(b, &dwords, read.attribute.ty.kind, ty)))
    })?;
    prelude.place(shader);
    Ok(())
}

/// The result of a read, from the 32-bit channels that it reads.
pub(super) fn value_of(b: &mut Builder<'_>, channels: &[Value], kind: NumericKind, ty: Type) -> Value {
    let whole = b.compose(channels);
    match ty.bits() {
        Bits::B8 | Bits::B16 if kind != NumericKind::Float => b.convert(AluOp::Trunc, whole, ty),
        Bits::B16 => b.convert(AluOp::FConv, whole, ty),
        Bits::B64 => b.bitcast(whole, ty),
        _ => whole,
    }
}

/// The barycentric pair of an interpolated input.
fn pair_of(perspective: bool, place: InterpPlace) -> System {
    match (perspective, place) {
        (true, InterpPlace::Sample) => System::PerspSample,
        (true, InterpPlace::Centroid) => System::PerspCentroid,
        (true, _) => System::PerspCenter,
        (false, InterpPlace::Sample) => System::LinearSample,
        (false, InterpPlace::Centroid) => System::LinearCentroid,
        (false, _) => System::LinearCenter,
    }
}

/// Whether the shader uses a pair, for an attribute or as barycentric coordinates.
fn uses_pair(shader: &Shader, pair: System) -> bool {
    shader.live_insts().any(|inst| {
        let interp = weight(inst).map(|(interp, _)| interp).or_else(|| Some(read(shader, inst)?.interp));
        matches!(interp, Some(Interp::At { perspective, place }) if pair_of(perspective, place) == pair)
    })
}

/// Interpolation and vertex of the weight that an instruction reads, if it reads a barycentric coordinate.
fn weight(inst: &Inst) -> Option<(Interp, u8)> {
    let Op::LoadBuiltIn { builtin, component, place } = inst.op else { return None };
    let perspective = match builtin {
        BuiltIn::BaryCoord => true,
        BuiltIn::BaryCoordNoPersp => false,
        _ => return None,
    };
    Some((Interp::At { perspective, place }, component))
}

/// Attribute read of an instruction; `None` if it reads none.
pub(super) fn read(shader: &Shader, inst: &Inst) -> Option<Read> {
    let flat = |semantic, kind, channel| Read {
        attribute: Attribute { semantic, flat: true, per_vertex: false, ty: ComponentType { kind, bits: 32 } },
        channel,
        interp: Interp::Flat,
    };
    // Linear across the primitive, that is with perspective on the screen.
    let smooth = |semantic, channel, place| Read {
        attribute: Attribute { semantic, flat: false, per_vertex: false, ty: ComponentType::F32 },
        channel,
        interp: Interp::At { perspective: true, place },
    };
    Some(match inst.op {
        Op::LoadInput { location, component, kind, interp } => {
            let wide = inst.result.is_some_and(|v| shader.ty(v).bits() == Bits::B64);
            // The dwords of a 64-bit value are plain bits.
            let kind = if wide { NumericKind::Uint } else { kind };
            let attribute = Attribute {
                semantic: Semantic::Location(location),
                flat: interp == Interp::Flat,
                per_vertex: matches!(interp, Interp::Vertex(_)),
                ty: ComponentType { kind, bits: 32 },
            };
            Read { attribute, channel: component, interp }
        }
        Op::LoadBuiltIn { builtin, component, place } => match builtin {
            BuiltIn::PointCoord => smooth(Semantic::PointCoord, component, place),
            BuiltIn::ClipDistance => smooth(Semantic::ClipDistance(component / 4), component % 4, place),
            BuiltIn::CullDistance => smooth(Semantic::CullDistance(component / 4), component % 4, place),
            BuiltIn::PrimitiveId => flat(Semantic::PrimitiveId, NumericKind::Uint, 0),
            BuiltIn::Layer => flat(Semantic::Layer, NumericKind::Uint, 0),
            BuiltIn::ViewportIndex => flat(Semantic::ViewportIndex, NumericKind::Uint, 0),
            _ => return None,
        },
        _ => return None,
    })
}

/// The channels of a read: 64 bits take two, which may continue in the next location.
pub(super) fn channels(shader: &Shader, inst: &Inst, read: Read) -> SmallVec<[(Attribute, u8); 2]> {
    let wide = inst.result.is_some_and(|v| shader.ty(v).bits() == Bits::B64);
    let Semantic::Location(location) = read.attribute.semantic else {
        return smallvec![(read.attribute, read.channel)];
    };
    dword_places(location, read.channel, wide)
        .map(|(location, channel)| (Attribute { semantic: Semantic::Location(location), ..read.attribute }, channel))
        .collect()
}

/// Whether a shader reads weights of vertices.
pub(super) fn reads_weights(shader: &Shader) -> bool {
    shader.live_insts().any(|inst| match inst.op {
        Op::LoadBuiltIn { builtin: BuiltIn::BaryCoordPullModel, component, .. } => component < 2,
        _ => weight(inst).is_some(),
    })
}

/// Facts about the whole shader.
struct Shared {
    wave: WaveSize,
    /// For perspective, linear: both pairs are loaded, so the hardware may omit the centroid (PrimMask bit 31).
    centroid_may_be_center: [bool; 2],
}

struct At<'a, 'b> {
    b: &'a mut Builder<'b>,
    p: &'a mut Prelude,
    entry: &'a Entry,
    shared: &'a Shared,
}

impl Attribute {
    /// Special attributes come first.
    fn order(self) -> (bool, Self) {
        (!self.is_special(), self)
    }

    fn is_special(self) -> bool {
        self.per_vertex || self.semantic == Semantic::PointCoord
    }
}

impl At<'_, '_> {
    fn channel(&mut self, attr: u32, channel: u8, interp: Interp, pair: Option<[Value; 2]>) -> Result<Value> {
        let mask = self.entry.system(System::PrimMask)?;
        Ok(match (interp, pair) {
            (Interp::At { .. }, Some([i, j])) => {
                self.b.value(Op::Target(AmdOp::Interp { attr, channel }), &[i, j, mask], Type::B32)
            }
            (Interp::Vertex(n), _) => {
                let vertex = SLOTS[usize::from(n.min(2))];
                self.b.value(Op::Target(AmdOp::InterpMov { attr, channel, vertex }), &[mask], Type::B32)
            }
            _ => self.b.value(Op::Target(AmdOp::InterpMov { attr, channel, vertex: P0 }), &[mask], Type::B32),
        })
    }

    /// The weight of a vertex: the hardware supplies those of the second and third slot.
    fn weight(&mut self, interp: Interp, args: &[Value], vertex: u8) -> Result<Value> {
        let pair = self.pair(interp, args)?;
        let pair = pair.ok_or_else(|| Error::bug("barycentric coordinates that are not interpolated"))?;
        let one = self.b.fconst(Type::B32, 1.0);
        self.share(one, pair, vertex)
    }

    /// i/w, j/w or 1/w, where i and j are the weights of the second and third vertex.
    fn over_w(&mut self, component: u8) -> Result<Value> {
        let reciprocal_w = self.lane(System::PerspPull, 2)?;
        match component {
            0 | 1 => {
                let pair = [self.lane(System::PerspPull, 0)?, self.lane(System::PerspPull, 1)?];
                self.share(reciprocal_w, pair, 1 + component)
            }
            _ => Ok(reciprocal_w),
        }
    }

    /// The share of a vertex in a whole, of which the second and third slot have these shares. Of a line, both are of the
    /// second vertex; a point has one vertex.
    fn share(&mut self, whole: Value, [i, j]: [Value; 2], vertex: u8) -> Result<Value> {
        let rest = self.b.alu(AluOp::FSub, &[whole, i]);
        let rest = self.b.alu(AluOp::FSub, &[rest, j]);
        let of_triangle = self.of_vertex([rest, i, j], vertex)?;
        let none = self.b.fconst(Type::B32, 0.0);
        let (of_line, of_point) = match vertex {
            0 => (rest, whole),
            1 => (self.b.alu(AluOp::FAdd, &[i, j]), none),
            _ => (none, none),
        };
        let primitive = reloc(self.b, &LinkSymbol::Primitive);
        let mut is = |kind: PrimitiveKind| {
            let number = self.b.c32(kind.number());
            self.b.alu(AluOp::IEq, &[primitive, number])
        };
        let [lines, triangles] = [PrimitiveKind::Lines, PrimitiveKind::Triangles].map(&mut is);
        let other = self.b.alu(AluOp::Select, &[lines, of_line, of_point]);
        Ok(self.b.alu(AluOp::Select, &[triangles, of_triangle, other]))
    }

    /// The value of a vertex from those of the three slots.
    fn of_vertex(&mut self, slots: [Value; 3], vertex: u8) -> Result<Value> {
        let first = usize::from(vertex.min(2));
        let turned = [0, 1, 2].map(|turn| slots[(first + turn) % 3]);
        let [once, twice] = self.turns()?;
        let other = self.b.alu(AluOp::Select, &[once, turned[1], turned[0]]);
        Ok(self.b.alu(AluOp::Select, &[twice, turned[2], other]))
    }

    /// Whether the slots of the lane's quad are turned by one, and by two.
    fn turns(&mut self) -> Result<[Value; 2]> {
        let of_quads = self.entry.system(System::ProvokingVertex)?;
        let (all, mask) = match self.shared.wave {
            WaveSize::W32 => (u32::MAX.into(), Type::B32),
            WaveSize::W64 => (u64::MAX, Type::B64),
        };
        let all = self.p.value(self.b.shader, Op::Const(all), &[], mask);
        let lane = self.p.value(self.b.shader, Op::Target(AmdOp::Lane(LaneOp::MaskBitCount)), &[all], Type::B32);
        let mut number = |n| self.p.value(self.b.shader, Op::Const(n), &[], Type::B32);
        let [one, two, three, even] = [number(1), number(2), number(3), number(0x1e)];
        // Two bits for each quad of four lanes.
        let half = self.alu(AluOp::LShr, &[lane, one], Type::B32);
        let place = self.alu(AluOp::IAnd, &[half, even], Type::B32);
        let moved = self.alu(AluOp::LShr, &[of_quads, place], Type::B32);
        let turn = self.alu(AluOp::IAnd, &[moved, three], Type::B32);
        Ok([self.alu(AluOp::IEq, &[turn, one], Type::B1), self.alu(AluOp::IEq, &[turn, two], Type::B1)])
    }

    /// The barycentric pair at the input's location in the pixel.
    fn pair(&mut self, interp: Interp, args: &[Value]) -> Result<Option<[Value; 2]>> {
        let Interp::At { perspective, place } = interp else { return Ok(None) };
        let own = pair_of(perspective, place);
        Ok(Some(match (place, args) {
            (InterpPlace::AtOffset, &[x, y]) => self.shifted(perspective, x, y)?,
            (InterpPlace::AtSample, &[sample]) => {
                let [x, y] = sample_offset(self.b, self.p, self.entry, sample)?;
                self.shifted(perspective, x, y)?
            }
            (InterpPlace::AtOffset | InterpPlace::AtSample, _) => {
                return Err(Error::bug("interpolation at a place that is not given"));
            }
            (InterpPlace::Centroid, _) if self.shared.centroid_may_be_center[usize::from(!perspective)] => {
                self.centroid(own, pair_of(perspective, InterpPlace::Center))?
            }
            _ => [self.lane(own, 0)?, self.lane(own, 1)?],
        }))
    }

    fn lane(&mut self, pair: System, lane: u8) -> Result<Value> {
        let pair = self.entry.system(pair)?;
        Ok(self.p.value(self.b.shader, Op::Extract(lane), &[pair], Type::B32))
    }

    fn alu(&mut self, op: AluOp, args: &[Value], ty: Type) -> Value {
        self.p.value(self.b.shader, Op::Alu(op, dovetail_ir::FpFlags::NONE), args, ty)
    }

    fn centroid(&mut self, centroid: System, center: System) -> Result<[Value; 2]> {
        let mask = self.entry.system(System::PrimMask)?;
        let zero = self.p.value(self.b.shader, Op::Const(0), &[], Type::B32);
        let all_covered = self.alu(AluOp::SLt, &[mask, zero], Type::B1);
        let mut out = [zero; 2];
        for (lane, v) in (0..).zip(&mut out) {
            let (a, b) = (self.lane(center, lane)?, self.lane(centroid, lane)?);
            *v = self.alu(AluOp::Select, &[all_covered, a, b], Type::B32);
        }
        Ok(out)
    }

    /// The pair at offset x, y from the centre. Derivatives are computed at entry, where all lanes of the quad are
    /// active.
    fn shifted(&mut self, perspective: bool, x: Value, y: Value) -> Result<[Value; 2]> {
        if !perspective {
            return Ok([self.shift(System::LinearCenter, 0, x, y)?, self.shift(System::LinearCenter, 1, x, y)?]);
        }
        // 1/w, i/w and j/w are linear on the screen; i and j are not.
        let i = self.shift(System::PerspPull, 0, x, y)?;
        let j = self.shift(System::PerspPull, 1, x, y)?;
        let reciprocal_w = self.shift(System::PerspPull, 2, x, y)?;
        let w = self.b.alu(AluOp::FRcp, &[reciprocal_w]);
        Ok([self.b.alu(AluOp::FMul, &[i, w]), self.b.alu(AluOp::FMul, &[j, w])])
    }

    fn shift(&mut self, of: System, lane: u8, x: Value, y: Value) -> Result<Value> {
        let v = self.lane(of, lane)?;
        let mut slope = |vertical| {
            let kind = DerivativeKind { vertical, fine: false };
            self.p.value(self.b.shader, Op::Derivative(kind), &[v], Type::B32)
        };
        let (dx, dy) = (slope(false), slope(true));
        let along = self.b.alu(AluOp::FFma, &[x, dx, v]);
        Ok(self.b.alu(AluOp::FFma, &[y, dy, along]))
    }
}
