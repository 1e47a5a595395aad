//! Stage inputs and outputs: every leaf of a variable is one component of a location or of a built-in.
//!
//! Inputs are read where they are loaded; a dynamically indexed input is first copied to a local, in the entry block.
//! Outputs are kept in locals; the exit block copies the components that a store may reach to their slots.

use super::builtins::{self, InputSource};
use super::cx::{Cx, LeafValues, Pointer, Storage, Ty, TypeId};
use super::layout::Leaf;
use super::types::MemoryLayout;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_base::workspace::{Kept, List, take};
use dovetail_ir::sample_shading::SampleEffect;
use dovetail_ir::{
    Align, AluOp, Bits, BlockId, BuiltIn, Interp, InterpPlace, LocalId, NumericKind, Op, OutputSlot, Shader, Type,
    Value,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::Decoration;
use std::ops::Range;

/// The inputs and outputs in use.
#[derive(Debug, Default)]
pub struct Interface {
    inputs: List<Input>,
    input_leaves: List<(Leaf, InputSource)>,
    outputs: List<Output>,
    output_leaves: List<OutputLeaf>,
    /// By location, whether its inputs have 64 bits.
    wide: Kept<FxHashMap<u32, bool>>,
}

#[derive(Debug)]
struct Input {
    ty: TypeId,
    /// Its leaves, as a range of [`Interface::input_leaves`].
    leaves: Range<usize>,
    /// The local variable with its copy, once it is dynamically indexed.
    local: Option<LocalId>,
}

impl Interface {
    /// An attribute has one format, so either all inputs of one location have 64 bits or none has. OpenGL counts one
    /// location for a `dvec4`, Vulkan two.
    fn check_widths(&mut self, added: Range<usize>) -> Result<()> {
        for (leaf, source) in self.input_leaves.get(added).unwrap_or(&[]) {
            let InputSource::Location { location, component, .. } = source else { continue };
            let is_wide = leaf.ty.bits() == Bits::B64;
            // The third and fourth 64-bit channels are in the next location.
            let taken = location.saturating_add(u32::from(is_wide && *component >= 2));
            if *self.wide.entry(taken).or_insert(is_wide) != is_wide {
                let why = format!("location {taken} is an input of 64 bits and another of fewer");
                let rule = "in Vulkan vectors of 3 and 4 such channels take two locations";
                return Err(Error::malformed(format!("{why}: {rule}")));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Output {
    local: LocalId,
    /// Its leaves, as a range of [`Interface::output_leaves`].
    leaves: Range<usize>,
    /// Whether there is a store at a dynamic offset of which no limits are known.
    all_written: bool,
}

#[derive(Debug)]
struct OutputLeaf {
    at: Leaf,
    slot: OutputSlot,
    kind: NumericKind,
    /// Whether a store may reach it.
    written: bool,
}

/// Decorations that a member inherits from its variable and may override.
#[derive(Clone, Copy, Debug)]
struct Decor {
    location: Option<u32>,
    component: u32,
    index: u32,
    builtin: Option<spirv::BuiltIn>,
    flat: bool,
    no_perspective: bool,
    centroid: bool,
    sample: bool,
    /// Whether the variable is an array with a value for each vertex.
    per_vertex: bool,
    /// Whether the variable is read by `InterpolateAtVertexAMD`, which names the vertex whose value it reads.
    explicit: bool,
}

impl Decor {
    fn of(cx: &Cx<'_>, id: u32, member: Option<u32>, outer: Option<Self>) -> Self {
        let mut d = outer.unwrap_or(Self {
            location: None,
            component: 0,
            index: 0,
            builtin: None,
            flat: false,
            no_perspective: false,
            centroid: false,
            sample: false,
            per_vertex: false,
            explicit: false,
        });
        for decorated in cx.module.decorations_of(id, member) {
            let value = decorated.value.unwrap_or(0);
            match decorated.decoration {
                Decoration::Location => d.location = Some(value),
                Decoration::Component => d.component = value.min(3),
                Decoration::Index => d.index = value,
                Decoration::BuiltIn => d.builtin = decorated.builtin,
                Decoration::Flat => d.flat = true,
                Decoration::NoPerspective => d.no_perspective = true,
                Decoration::Centroid => d.centroid = true,
                Decoration::Sample => d.sample = true,
                Decoration::PerVertexKHR => d.per_vertex = true,
                Decoration::ExplicitInterpAMD => d.explicit = true,
                _ => {}
            }
        }
        d
    }
}

/// A leaf of an interface variable: its type, location and decorations.
struct Component {
    ty: TypeId,
    /// Location, or the component of a built-in.
    location: u32,
    component: u32,
    vertex: u8,
    decor: Decor,
}

/// The components of a variable; most are a vector.
type Components = SmallVec<[Component; 4]>;

/// The variable's struct type by id, for its member decorations.
fn struct_id(cx: &Cx<'_>, variable: u32) -> Option<u32> {
    let mut at = cx.module.result_types.get(variable as usize).copied()?;
    for _ in 0..8 {
        let inst = cx.module.global(at)?;
        at = match inst.op() {
            spirv::Op::TypePointer => inst.id(1).ok()?,
            spirv::Op::TypeArray => inst.id(0).ok()?,
            _ => return Some(at),
        };
    }
    None
}

/// How 64-bit components are counted: by channels of the attribute at their location, as vertices are fetched, or by
/// the dwords that they occupy in consecutive locations, as parameters are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    Channels,
    Dwords,
}

/// Splits a variable into components, in leaf order.
fn components(cx: &Cx<'_>, id: u32, ty: TypeId, wide: Wide) -> Result<Components> {
    let decor = Decor::of(cx, id, None, None);
    let block = struct_id(cx, id);
    // No Vulkan interface reaches a compute shader, so locations mean nothing there, and may be missing.
    let counted = decor.builtin.is_some() || cx.b.shader.stage.is_dispatched();
    let location = decor.location.or(counted.then_some(0));
    let mut walk = Walk { cx, wide, vertex: 0, location, out: Components::with_capacity(cx.types.leaf_count(ty)?) };
    match *cx.types.get(ty) {
        Ty::Array { elem, len, .. } if decor.per_vertex => {
            for vertex in 0..len.min(3) {
                (walk.vertex, walk.location) = (vertex as u8, location);
                walk.expand(elem, decor, block)?;
            }
        }
        _ => walk.expand(ty, decor, block)?,
    }
    Ok(walk.out)
}

/// A walk through a variable's type.
struct Walk<'a, 'b> {
    cx: &'a Cx<'b>,
    wide: Wide,
    vertex: u8,
    /// Next location, or the next component of a built-in. `None` if neither the variable nor an earlier member has
    /// one.
    location: Option<u32>,
    out: Components,
}

impl Walk<'_, '_> {
    fn expand(&mut self, ty: TypeId, decor: Decor, block: Option<u32>) -> Result<()> {
        let types = &self.cx.types;
        if types.leaf_count(ty)? == 0 {
            return Ok(());
        }
        if let Some((elem, count)) = types.vector(ty) {
            return self.vector(elem, count, decor);
        }
        match types.get(ty) {
            Ty::Matrix { column: elem, count } | Ty::Array { elem, len: count, .. } => {
                for _ in 0..*count {
                    self.expand(*elem, decor, block)?;
                }
            }
            Ty::Struct { .. } => {
                for (n, m) in types.filled_members(ty) {
                    let decor = match block {
                        Some(id) => Decor::of(self.cx, id, Some(n as u32), Some(Decor { location: None, ..decor })),
                        None => Decor { location: None, ..decor },
                    };
                    self.location = decor.location.or(self.location);
                    let before = self.location;
                    if decor.builtin.is_some() {
                        self.location = Some(0);
                    }
                    self.expand(m.ty, decor, None)?;
                    if decor.builtin.is_some() {
                        self.location = before;
                    }
                }
            }
            _ => return Err(Error::malformed("a type that no stage interface has")),
        }
        Ok(())
    }

    fn vector(&mut self, elem: TypeId, count: u32, decor: Decor) -> Result<()> {
        let start = self.location.ok_or_else(|| {
            Error::malformed("a variable or member of the interface with neither Location nor BuiltIn")
        })?;
        let wide = self.cx.types.scalar(elem) == Some(Type::B64);
        let dwords = if wide { 2 } else { 1 };
        for i in 0..count {
            let (location, component) = match self.wide {
                // The elements of an array built-in are its further components.
                _ if decor.builtin.is_some() => (start, start + i),
                Wide::Channels => (start, decor.component / dwords + i),
                // 32-bit components are all in one location.
                Wide::Dwords if !wide => (start, decor.component + i),
                Wide::Dwords => {
                    let dword = decor.component + 2 * i;
                    (start.saturating_add(dword / 4), dword % 4)
                }
            };
            self.out.push(Component { ty: elem, location, component, vertex: self.vertex, decor });
        }
        let taken = if decor.builtin.is_some() { count } else { (decor.component + dwords * count).div_ceil(4).max(1) };
        self.location = Some(start.saturating_add(taken));
        Ok(())
    }
}

fn kind(cx: &Cx<'_>, ty: TypeId) -> NumericKind {
    match cx.types.get(ty) {
        Ty::Float { .. } => NumericKind::Float,
        Ty::Int { signed: true, .. } => NumericKind::Sint,
        _ => NumericKind::Uint,
    }
}

impl Cx<'_> {
    /// A location's components are fetched, interpolated and exported as IEEE floats or integers.
    fn no_bfloat(&self, ty: TypeId) -> Result<()> {
        if self.types.reaches_bfloat(ty) {
            Err(Error::unsupported("bfloat16 as stage input or output", ""))
        } else {
            Ok(())
        }
    }

    /// Declares an input variable; returns its index in the interface.
    pub(super) fn declare_input(&mut self, id: u32, ty: TypeId) -> Result<usize> {
        self.no_bfloat(ty)?;
        let at = self.types.walk(ty, MemoryLayout::PACKED)?;
        self.spend(at.len())?;
        let stage = self.b.shader.stage;
        let first = self.interface.input_leaves.len();
        let wide = if stage.fetches_attributes() { Wide::Channels } else { Wide::Dwords };
        for (&leaf, c) in at.iter().zip(components(self, id, ty, wide)?) {
            let source = match c.decor.builtin {
                Some(b) => builtins::input(stage, b, c.component, place(&c.decor)),
                None if stage.is_dispatched() => {
                    let why = "a compute shader that uses an input without a built-in: no stage comes before it";
                    return Err(Error::malformed(why));
                }
                None => InputSource::Location {
                    location: c.location,
                    component: component(c.component)?,
                    kind: kind(self, c.ty),
                    interp: interpolation(self, stage, &c),
                },
            };
            // Vulkan ("Sample Shading"): a static use of any input that is decorated `Sample` may require it, and only then is
            // the position that of a sample. Vulkan exempts only `Centroid` on `FragCoord`.
            let position = c.decor.sample && c.decor.builtin == Some(spirv::BuiltIn::FragCoord);
            let asks = position || source.read().is_some_and(|read| read.effect() == SampleEffect::Asks);
            self.b.shader.modes.per_sample |= asks && stage.shades_pixels();
            self.interface.input_leaves.push((leaf, source));
        }
        let leaves = first..self.interface.input_leaves.len();
        if stage.fetches_attributes() {
            self.interface.check_widths(leaves.clone())?;
        }
        self.interface.inputs.push(Input { ty, leaves, local: None });
        Ok(self.interface.inputs.len() - 1)
    }

    /// Declares an output variable; returns its index in the interface.
    pub(super) fn declare_output(&mut self, id: u32, ty: TypeId) -> Result<usize> {
        self.no_bfloat(ty)?;
        let at = self.types.walk(ty, MemoryLayout::PACKED)?;
        self.spend(at.len())?;
        let stage = self.b.shader.stage;
        let first = self.interface.output_leaves.len();
        for (&at, c) in at.iter().zip(components(self, id, ty, Wide::Dwords)?) {
            let slot = match c.decor.builtin {
                Some(b) => match builtins::output(stage, b, c.component)? {
                    Some(slot) => slot,
                    None => continue,
                },
                None => OutputSlot::Location {
                    location: c.location,
                    component: component(c.component)?,
                    index: c.decor.index.min(1) as u8,
                },
            };
            let leaf = OutputLeaf { at, slot, kind: kind(self, c.ty), written: false };
            self.interface.output_leaves.push(leaf);
        }
        let leaves = first..self.interface.output_leaves.len();
        let local = self.new_local(id, ty)?;
        self.interface.outputs.push(Output { local, leaves, all_written: false });
        Ok(self.interface.outputs.len() - 1)
    }

    /// The local that holds an output.
    pub(super) fn output_local(&self, output: usize) -> LocalId {
        self.interface.outputs.get(output).map_or(LocalId(0), |o| o.local)
    }

    /// Records which components a store to an output reaches.
    pub(super) fn note_output(&mut self, output: usize, pointer: &Pointer) {
        let size = self.types.size(pointer.ty, pointer.layout);
        let own = pointer.constant..pointer.constant.saturating_add(size);
        let range = if pointer.dynamic.is_some() { pointer.reach.clone() } else { Some(own) };
        let Some(o) = self.interface.outputs.get_mut(output).filter(|o| !o.all_written) else { return };
        let leaves = self.interface.output_leaves.get_mut(o.leaves.clone()).unwrap_or(&mut []);
        let Some(range) = range else {
            o.all_written = true;
            leaves.iter_mut().for_each(|leaf| leaf.written = true);
            return;
        };
        // Leaves are sorted by offset.
        let first = leaves.partition_point(|leaf| leaf.at.offset < range.start);
        let reached = leaves.iter_mut().skip(first).take_while(|leaf| range.contains(&leaf.at.offset));
        reached.for_each(|leaf| leaf.written = true);
    }

    /// Fills the exit block.
    ///
    /// # Errors
    /// Malformed: two outputs in one slot.
    pub(super) fn store_outputs(&mut self) -> Result<()> {
        let Interface { outputs, output_leaves, .. } = std::mem::take(&mut self.interface);
        let mut taken = take::<FxHashSet<_>>();
        for o in &outputs {
            for leaf in output_leaves.get(o.leaves.clone()).unwrap_or(&[]).iter().filter(|l| l.written) {
                let mut places = places(leaf.slot, leaf.at.ty);
                if !places.all(|place| taken.insert(place)) {
                    return Err(Error::malformed(format!("two outputs at {:?}", leaf.slot)));
                }
                let offset = self.b.c32(leaf.at.offset);
                // Booleans are stored as 32 bits, and no built-in output is one.
                let ty = if leaf.at.ty == Type::B1 { Type::B32 } else { leaf.at.ty };
                let align = Align::of_offset(leaf.at.offset).min(Align::A4);
                let held = self.contents.leaf(o.local, leaf.at.offset).filter(|v| self.b.ty(*v) == ty);
                let v = held.unwrap_or_else(|| self.b.value(Op::LocalLoad { local: o.local, align }, &[offset], ty));
                self.b.effect(Op::StoreOutput { slot: leaf.slot, kind: leaf.kind }, &[v]);
            }
        }
        Ok(())
    }

    /// Loads from an input at a constant offset. A volatile load sees whether the invocation has become a helper.
    pub(super) fn load_input(&mut self, input: usize, pointer: &Pointer, volatile: bool) -> Result<LeafValues> {
        self.input_values(input, pointer, |cx, source, ty| match source {
            InputSource::BuiltIn(BuiltIn::HelperInvocation, ..) if volatile => Ok(cx.b.value(Op::IsHelper, &[], ty)),
            source => cx.read_source(&source, ty),
        })
    }

    /// The values of an input's leaves, as `read` makes each from its source.
    fn input_values(
        &mut self,
        input: usize,
        pointer: &Pointer,
        read: impl Fn(&mut Self, InputSource, Type) -> Result<Value>,
    ) -> Result<LeafValues> {
        let Some(i) = self.interface.inputs.get(input) else { return Err(Error::bug("input out of range")) };
        let known = i.leaves.clone();
        let leaves = self.types.walk(pointer.ty, pointer.layout)?;
        let mut values = LeafValues::with_capacity(leaves.len());
        for leaf in leaves.iter() {
            let source = self.source(known.clone(), pointer.constant.wrapping_add(leaf.offset), leaf.ty)?;
            values.push(read(self, source, leaf.ty)?);
        }
        Ok(values)
    }

    /// Source of an input's leaf at this offset; the input has the `known` leaves.
    fn source(&self, known: Range<usize>, offset: u32, ty: Type) -> Result<InputSource> {
        let known = self.interface.input_leaves.get(known).unwrap_or_default();
        match known.binary_search_by_key(&offset, |(leaf, _)| leaf.offset).ok().and_then(|n| known.get(n)) {
            Some((leaf, source)) if leaf.ty == ty => Ok(source.clone()),
            // Only undefined if it is read: an optimizer leaves such code behind conditions that are never true.
            None => Ok(InputSource::Undefined),
            Some(_) => Err(Error::malformed("a value of another type than the input has there")),
        }
    }

    fn read_source(&mut self, source: &InputSource, ty: Type) -> Result<Value> {
        self.read_at(source, &[], ty)
    }

    /// Reads a source; `operands` are those that its location in the pixel needs.
    fn read_at(&mut self, source: &InputSource, operands: &[Value], ty: Type) -> Result<Value> {
        Ok(match *source {
            InputSource::Location { location, component, kind, interp } => {
                let operands = if matches!(interp, Interp::At { .. }) { operands } else { &[] };
                self.b.value(Op::LoadInput { location, component, kind, interp }, operands, ty)
            }
            InputSource::BuiltIn(builtin, component, place) => {
                let operands = if builtin.is_interpolated() { operands } else { &[] };
                self.b.value(Op::LoadBuiltIn { builtin, component, place }, operands, ty)
            }
            InputSource::GlobalInvocationId(c) => {
                let size = self.b.shader.modes.local_size.get(c as usize).copied().unwrap_or(1);
                let load = |cx: &mut Self, builtin| cx.b.value(Op::load_builtin(builtin, c), &[], ty);
                let group = load(self, BuiltIn::WorkgroupId);
                let local = load(self, BuiltIn::LocalInvocationId);
                let base = self.b.imul_const(group, u64::from(size));
                self.b.alu(AluOp::IAdd, &[base, local])
            }
            InputSource::WorkgroupSize(c) => {
                let size = self.b.shader.modes.local_size.get(c as usize).copied().unwrap_or(1);
                self.b.iconst(ty, u64::from(size))
            }
            InputSource::Constant(n) => self.b.iconst(ty, u64::from(n)),
            InputSource::Undefined => self.b.undef(ty),
            InputSource::Unsupported(name) => {
                return Err(Error::unsupported(format!("BuiltIn {name:?}"), "as an input"));
            }
        })
    }

    /// The copy of a dynamically indexed input; made in the entry block.
    pub(super) fn input_local(&mut self, input: usize) -> Result<LocalId> {
        let Some(i) = self.interface.inputs.get(input) else { return Err(Error::bug("input out of range")) };
        if let Some(local) = i.local {
            return Ok(local);
        }
        let (ty, here) = (i.ty, self.b.block());
        let local = self.new_local(0, ty)?;
        self.at_entry(|cx| {
            let whole = Pointer::new(Storage::Input(input), ty, MemoryLayout::PACKED);
            let values = cx.load_input(input, &whole, false)?;
            let copy = Pointer::new(Storage::Local(local), ty, MemoryLayout::PACKED);
            cx.store(&copy, &values, Default::default())
        })?;
        debug_assert_eq!(self.b.block(), here);
        if let Some(i) = self.interface.inputs.get_mut(input) {
            i.local = Some(local);
        }
        Ok(local)
    }

    /// Appends to the entry block, whose end dominates every later instruction.
    fn at_entry<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let here: BlockId = self.b.block();
        self.b.switch_to(Shader::ENTRY);
        let result = f(self);
        self.b.switch_to(here);
        result
    }

    /// Interpolates an input at another location than its decoration says; `operands` as for [`InterpPlace`].
    ///
    /// # Errors
    /// Malformed: not an input. Unsupported: a built-in that varies within a pixel.
    pub fn interpolate_at(&mut self, pointer: u32, place: InterpPlace, operands: &[Value]) -> Result<LeafValues> {
        let moved = |source| match source {
            InputSource::BuiltIn(b @ BuiltIn::FragCoord, ..) => {
                Err(Error::unsupported("interpolation function", format!("of BuiltIn {b:?}")))
            }
            other => Ok(other.at(place)),
        };
        self.read_moved(pointer, &moved, operands)
    }

    /// An input as one vertex of the primitive has it.
    ///
    /// # Errors
    /// Malformed: not an input with `ExplicitInterpAMD`.
    pub fn at_vertex(&mut self, pointer: u32, vertex: u8) -> Result<LeafValues> {
        let moved = |source: InputSource| {
            let source = source.at_vertex(vertex);
            source.ok_or_else(|| Error::malformed("the value at a vertex of an input without ExplicitInterpAMD"))
        };
        self.read_moved(pointer, &moved, &[])
    }

    /// Reads an input from other sources than its own.
    fn read_moved(&mut self, pointer: u32, moved: Moved<'_>, operands: &[Value]) -> Result<LeafValues> {
        let p = self.pointer(pointer)?;
        let Storage::Input(input) = p.place else {
            return Err(Error::malformed("an interpolation function of something that is not an input"));
        };
        if p.dynamic.is_none() {
            return self.read_leaves(input, &p, moved, operands);
        }
        // The element is known only at run time: all elements are interpolated, and the copy is indexed.
        let Some(ty) = self.interface.inputs.get(input).map(|i| i.ty) else {
            return Err(Error::bug("input out of range"));
        };
        let whole = Pointer::new(p.place.clone(), ty, MemoryLayout::PACKED);
        let values = self.read_leaves(input, &whole, moved, operands)?;
        let copy = Storage::Local(self.new_local(pointer, ty)?);
        self.store(&Pointer::new(copy.clone(), ty, MemoryLayout::PACKED), &values, Default::default())?;
        self.load(&Pointer { place: copy, ..p }, Default::default())
    }

    /// The leaves of a part of an input.
    fn read_leaves(&mut self, input: usize, p: &Pointer, moved: Moved<'_>, operands: &[Value]) -> Result<LeafValues> {
        self.input_values(input, p, |cx, source, ty| cx.read_at(&moved(source)?, operands, ty))
    }
}

/// The source that a function reads in place of an input's own.
type Moved<'a> = &'a dyn Fn(InputSource) -> Result<InputSource>;

/// The 32-bit slots that an output occupies.
fn places(slot: OutputSlot, ty: Type) -> impl Iterator<Item = OutputSlot> {
    let high = match slot {
        OutputSlot::Location { location, component, index } if ty == Type::B64 => {
            Some(OutputSlot::Location { location, component: component + 1, index })
        }
        _ => None,
    };
    [slot].into_iter().chain(high)
}

fn component(n: u32) -> Result<u8> {
    if n < 4 { Ok(n as u8) } else { Err(Error::malformed(format!("component {n} of a location"))) }
}

fn interpolation(cx: &Cx<'_>, stage: Stage, c: &Component) -> Interp {
    // Vulkan requires `Flat` for integers and 64-bit types, since they cannot be interpolated.
    let float = matches!(cx.types.get(c.ty), Ty::Float { bits } if *bits != Bits::B64);
    if c.decor.per_vertex || c.decor.explicit {
        return Interp::Vertex(c.vertex);
    }
    if !stage.reads_parameters() || c.decor.flat || !float {
        return Interp::Flat;
    }
    Interp::At { perspective: !c.decor.no_perspective, place: place(&c.decor) }
}

/// Location in the pixel at which a variable is interpolated.
fn place(decor: &Decor) -> InterpPlace {
    match (decor.sample, decor.centroid) {
        (true, _) => InterpPlace::Sample,
        (_, true) => InterpPlace::Centroid,
        _ => InterpPlace::Center,
    }
}
