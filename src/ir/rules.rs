//! The rule of each operation: its level, its operands, its result. One match arm per operation.
//!
//! Operands are known to exist when a rule is checked.

use super::alu::Sig;
use super::amd::AmdOp;
use super::image::{Dim, ImageInst, ImageOp, ImageOperand, LodMode, MimgInst, MimgOp};
use super::interface::{BuiltIn, Interp, InterpPlace, OutputSlot};
use super::lanes::{LaneOp, SubgroupOp};
use super::memory::{AtomicMemory, AtomicOp, Scope};
use super::op::Op;
use super::shader::{Inst, Shader, ShaderLevel, Value};
use super::types::{Align, Bits, Type};
use smallvec::SmallVec;

type Check = Result<(), String>;

/// The level at which an operation may occur; `None` is both.
pub fn level(op: &Op) -> Option<ShaderLevel> {
    match op {
        Op::Descriptor { .. }
        | Op::PushConstant { .. }
        | Op::LoadInput { .. }
        | Op::LoadBuiltIn { .. }
        | Op::StoreOutput { .. }
        | Op::BufferSize
        | Op::IsHelper
        | Op::Within(_)
        | Op::Image(_)
        | Op::Subgroup(_)
        | Op::Derivative(_) => Some(ShaderLevel::Upper),
        Op::Target(AmdOp::Lane(LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa)) => None,
        Op::EndIfDead
        | Op::Opaque
        | Op::Target(AmdOp::AddressHigh | AmdOp::WorkgroupIds(_))
        | Op::Target(AmdOp::TableLoad { .. })
        | Op::Target(AmdOp::Mimg(_))
        | Op::Target(AmdOp::TexelLoad { .. })
        | Op::Target(AmdOp::TexelStore { .. })
        | Op::Target(AmdOp::TexelAtomic { .. })
        | Op::Target(AmdOp::TypedLoad { .. })
        | Op::Target(AmdOp::Interp { .. })
        | Op::Target(AmdOp::InterpMov { .. })
        | Op::Target(AmdOp::Export { .. })
        | Op::Target(AmdOp::Lane(_)) => Some(ShaderLevel::Lower),
        _ => None,
    }
}

/// Checks one instruction.
pub(super) fn check(shader: &Shader, inst: &Inst, either_level: bool) -> Check {
    if !either_level && level(&inst.op).is_some_and(|l| l != shader.level) {
        let name = if shader.level == ShaderLevel::Upper { "upper" } else { "lower" };
        return Err(format!("no operation of the {name} level"));
    }
    let types: SmallVec<[Type; 16]> = inst.args.iter().map(|&v: &Value| shader.ty(v)).collect();
    let rule = Rule { shader, types: &types, result: inst.result.map(|v| shader.ty(v)) };
    rule.check(&inst.op)?;
    if !either_level && shader.level == ShaderLevel::Lower { rule.lowered(&inst.op) } else { Ok(()) }
}

struct Rule<'a> {
    shader: &'a Shader,
    types: &'a [Type],
    result: Option<Type>,
}

impl Rule<'_> {
    fn check(&self, op: &Op) -> Check {
        match op {
            Op::Const(bits) => {
                self.args(&[])?;
                let ty = self.some_result()?;
                if !ty.is_scalar() {
                    return Err("a constant is a scalar".into());
                }
                if bits & !ty.bits().mask() != 0 { Err(format!("the constant does not fit {ty}")) } else { Ok(()) }
            }
            Op::Undef => self.args(&[]).and(self.some_result()).map(drop),
            Op::Alu(op, _) => self.alu(*op),
            Op::Compose => {
                let ty = self.some_result()?;
                if ty.is_scalar() {
                    return Err("one scalar is no vector".into());
                }
                self.all(ty.lanes() as usize, ty.element())
            }
            Op::Extract(lane) => {
                let ty = self.one()?;
                if u32::from(*lane) >= ty.lanes() {
                    return Err(format!("lane {lane} of {ty}"));
                }
                self.result(ty.element())
            }
            Op::Bitcast => {
                let (from, to) = (self.one()?, self.some_result()?);
                if from.total_bits() == to.total_bits() {
                    Ok(())
                } else {
                    Err(format!("{from} and {to} differ in size"))
                }
            }
            Op::LocalLoad { local, .. } => {
                self.local(local.index())?;
                self.args(&[Type::B32]).and(self.memory_result())
            }
            Op::LocalStore { local, .. } => {
                self.local(local.index())?;
                self.store(&[Type::B32])
            }
            Op::ConstLoad { table, .. } => {
                self.exists("table", table.index(), self.shader.tables.len())?;
                self.args(&[Type::B32]).and(self.memory_result())
            }
            Op::SharedLoad { .. } => self.args(&[Type::B32]).and(self.memory_result()),
            Op::SharedStore { .. } => self.store(&[Type::B32]),
            Op::SharedAtomic(op) => self.atomic(*op, &[Type::B32]),
            Op::BufferLoad { .. } => self.args(&[Type::DESC4, Type::B32]).and(self.memory_result()),
            Op::BufferStore { .. } => self.store(&[Type::DESC4, Type::B32]),
            Op::BufferAtomic { op, .. } => self.atomic(*op, &[Type::DESC4, Type::B32]),
            Op::BufferSize => self.args(&[Type::DESC4]).and(self.result(Type::B32)),
            Op::GlobalLoad { .. } => self.args(&[Type::B64]).and(self.memory_result()),
            Op::GlobalStore { .. } => self.store(&[Type::B64]),
            Op::GlobalAtomic { op, .. } => self.atomic(*op, &[Type::B64]),
            Op::Descriptor { resource, part, .. } => {
                self.exists("resource", resource.index(), self.shader.resources.len())?;
                self.args(&[Type::B32])?;
                self.result(if part.image_number().is_some() { Type::DESC8 } else { Type::DESC4 })
            }
            Op::PushConstant { .. } => self.args(&[Type::B32]).and(self.memory_result()),
            Op::LoadInput { component, interp, .. } => {
                self.component(*component)?;
                match interp {
                    Interp::At { place, .. } => self.place(*place)?,
                    _ => self.args(&[])?,
                }
                self.scalar_result()
            }
            Op::LoadBuiltIn { builtin, place, .. } => {
                if *place != InterpPlace::Center && !builtin.is_interpolated() {
                    return Err(format!("{builtin:?} has no place in the pixel"));
                }
                self.place(*place)?;
                use BuiltIn as B;
                let truth = matches!(builtin, B::FrontFacing | B::HelperInvocation | B::FullyCovered);
                self.result(if truth { Type::B1 } else { Type::B32 })
            }
            Op::StoreOutput { slot, .. } => {
                if let OutputSlot::Location { component, .. } = slot {
                    self.component(*component)?;
                }
                let ty = self.one()?;
                if !ty.is_scalar() || ty == Type::B1 {
                    return Err("an output is a scalar of 8 bits or more".into());
                }
                self.no_result()
            }
            Op::Image(image) => self.image(image),
            Op::Subgroup(op) => self.subgroup(op),
            Op::Derivative(_) => {
                let ty = self.one()?;
                if !ty.can_be_float() {
                    return Err(format!("{ty} is no float"));
                }
                self.result(ty)
            }
            Op::Barrier { .. } | Op::Fence { .. } | Op::EndIfDead => self.args(&[]).and(self.no_result()),
            Op::DemoteIf => self.args(&[Type::B1]).and(self.no_result()),
            Op::LoopToken => self.args(&[]).and(self.result(Type::B32)),
            Op::StayInLoop => self.args(&[Type::B32]).and(self.no_result()),
            Op::IsHelper => self.args(&[]).and(self.result(Type::B1)),
            Op::Within(_) => {
                let ty = self.one()?;
                if !ty.is_scalar() {
                    return Err(format!("an index of type {ty}"));
                }
                self.result(ty)
            }
            Op::ReadClock(_) => self.args(&[]).and(self.result(Type::B64)),
            Op::Reloc(symbol) => {
                self.exists("symbol", symbol.index(), self.shader.symbols.len())?;
                self.args(&[]).and(self.result(Type::B32))
            }
            Op::Opaque => {
                let ty = self.one()?;
                let fits = ty == Type::B1 || ty.total_bits().is_multiple_of(32);
                if fits { self.result(ty) } else { Err(format!("{ty} is neither a truth value nor made of dwords")) }
            }
            Op::Target(AmdOp::AddressHigh | AmdOp::WorkgroupIds(_)) => self.args(&[]).and(self.result(Type::B32)),
            Op::Target(AmdOp::TableLoad { .. }) => self.args(&[Type::B64, Type::B32]).and(self.memory_result()),
            Op::Target(AmdOp::Mimg(image)) => self.mimg(image),
            Op::Target(AmdOp::TexelLoad { sparse, .. }) => {
                self.args(&[Type::DESC4, Type::B32])?;
                let ty = self.some_result()?;
                let texel = if *sparse { Type::vector(ty.bits(), ty.lanes() - 1) } else { Some(ty) };
                self.channels(texel.ok_or("a residency code without a texel")?)
            }
            Op::Target(AmdOp::TexelStore { .. }) => {
                self.prefix(&[Type::DESC4, Type::B32], 1)?;
                self.channels(self.types[2]).and(self.no_result())
            }
            Op::Target(AmdOp::TexelAtomic { op, .. }) => self.atomic(*op, &[Type::DESC4, Type::B32]),
            Op::Target(AmdOp::TypedLoad { .. }) => {
                self.args(&[Type::DESC4, Type::B32])?;
                self.channels(self.some_result()?)
            }
            Op::Target(AmdOp::Interp { channel, .. }) => {
                self.component(*channel)?;
                self.args(&[Type::B32; 3]).and(self.result(Type::B32))
            }
            Op::Target(AmdOp::InterpMov { channel, vertex, .. }) => {
                self.component(*channel)?;
                if *vertex > 2 {
                    return Err(format!("vertex selector {vertex}"));
                }
                self.args(&[Type::B32]).and(self.result(Type::B32))
            }
            Op::Target(AmdOp::Export { enable, .. }) => {
                if *enable > 15 {
                    return Err(format!("channels {enable:#x}"));
                }
                self.args(&[Type::B32; 4]).and(self.no_result())
            }
            Op::Target(AmdOp::Lane(op)) => self.amd(op),
        }
    }

    /// Checks that operations of both levels have the form that the passes give them and code generators rely on.
    fn lowered(&self, op: &Op) -> Check {
        if let Some(access) = op.descriptor_access() {
            if access.non_uniform {
                return Err("`lower_waterfalls` leaves no descriptor that may differ between lanes".into());
            }
            if access.live_only != (op.writes_by_descriptor() && self.shader.stage.shades_pixels()) {
                return Err(
                    "writes of a fragment shader through a descriptor are of live pixels only, no others".into()
                );
            }
        }
        match *op {
            Op::BufferLoad { kind, align, access } if access.is_scalar(kind) => {
                let ty = self.some_result()?;
                let fits = ty.bits() == Bits::B32 && ty.lanes().is_power_of_two() && align >= Align::A4;
                if fits { Ok(()) } else { Err(format!("no scalar load gives {ty}, or less than dwords")) }
            }
            Op::BufferLoad { align, .. } => Self::moved_at_once(self.some_result()?, align),
            Op::BufferStore { align, .. } => Self::moved_at_once(self.types[2], align),
            Op::Barrier { .. } if op.orders_memory() => Err("a barrier orders no memory, fences beside it do".into()),
            Op::Barrier { exec: Scope::Subgroup, .. } => Ok(()),
            Op::Barrier { exec: Scope::Workgroup, .. } if self.shader.stage.has_workgroups() => Ok(()),
            Op::Barrier { exec, .. } => Err(format!("no barrier of a {} shader waits for {exec:?}", self.shader.stage)),
            Op::Fence { .. } if !op.orders_memory() => Err("a fence that orders nothing".into()),
            Op::Alu(op, _) => {
                let from = self.types[0].bits();
                let to = self.result.map_or(from, Type::bits);
                match (op.has_instruction(from, to), op.sig()) {
                    (true, _) => Ok(()),
                    (false, Sig::Convert) => {
                        Err(format!("no instruction is {} of {} bits to {}", op.name(), from.count(), to.count()))
                    }
                    (false, _) => Err(format!("no instruction is {} of {} bits", op.name(), from.count())),
                }
            }
            Op::SharedAtomic(op) => self.has_instruction(op, AtomicMemory::Shared, 1),
            Op::GlobalAtomic { op, .. } => self.has_instruction(op, AtomicMemory::Global, 1),
            Op::BufferAtomic { op, .. } | Op::Target(AmdOp::TexelAtomic { op, .. }) => {
                self.has_instruction(op, AtomicMemory::Descriptor, 2)
            }
            Op::Target(AmdOp::Mimg(MimgInst { op: MimgOp::Atomic(op), .. })) => {
                self.has_instruction(op, AtomicMemory::Descriptor, 1)
            }
            Op::DemoteIf | Op::EndIfDead | Op::Target(AmdOp::Lane(LaneOp::LiveMask))
                if !self.shader.stage.shades_pixels() =>
            {
                Err(format!("a {} shader has no helpers", self.shader.stage))
            }
            _ => Ok(()),
        }
    }

    /// Checks an atomic whose data operands start at `data`.
    fn has_instruction(&self, op: AtomicOp, memory: AtomicMemory, data: usize) -> Check {
        let bits = self.types.get(data).copied().or(self.result).map_or(Bits::B32, Type::bits);
        if op.has_instruction(memory, bits) {
            Ok(())
        } else {
            Err(format!("no instruction is an atomic {op:?} of {} bits there", bits.count()))
        }
    }

    /// Checks for a width that one vector instruction moves: one to four dwords, or less than one.
    fn moved_at_once(ty: Type, align: Align) -> Check {
        let fits = match ty.bits() {
            Bits::B8 | Bits::B16 => ty.is_scalar(),
            bits => bits == Bits::B32 && ty.lanes() <= 4,
        };
        let aligned = align.bytes() >= ty.bits().bytes();
        if fits && aligned { Ok(()) } else { Err(format!("no instruction moves {ty} aligned to {}", align.bytes())) }
    }

    fn args(&self, want: &[Type]) -> Check {
        self.prefix(want, 0)
    }

    /// Checks for `count` operands of one type.
    fn all(&self, count: usize, want: Type) -> Check {
        let want: SmallVec<[Type; 16]> = SmallVec::from_elem(want, count);
        self.args(&want)
    }

    /// Checks for these operand types, then `more` of any type.
    fn prefix(&self, want: &[Type], more: usize) -> Check {
        if self.types.len() != want.len() + more {
            return Err(format!("{} operands expected, {} given", want.len() + more, self.types.len()));
        }
        match want.iter().zip(self.types).enumerate().find(|(_, (w, t))| w != t) {
            Some((i, (w, t))) => Err(format!("operand {i} is {t}, not {w}")),
            None => Ok(()),
        }
    }

    fn one(&self) -> Result<Type, String> {
        self.prefix(&[], 1)?;
        Ok(self.types[0])
    }

    fn some_result(&self) -> Result<Type, String> {
        self.result.ok_or_else(|| "no result".into())
    }

    fn no_result(&self) -> Check {
        if self.result.is_none() { Ok(()) } else { Err("no result expected".into()) }
    }

    fn result(&self, want: Type) -> Check {
        match self.some_result()? {
            is if is == want => Ok(()),
            is => Err(format!("the result is {want}, not {is}")),
        }
    }

    fn scalar_result(&self) -> Check {
        let ty = self.some_result()?;
        if ty.is_scalar() && ty != Type::B1 { Ok(()) } else { Err(format!("{ty} is no scalar of 8 bits or more")) }
    }

    /// Booleans have no memory representation.
    fn in_memory(ty: Type) -> Check {
        if ty.bits() == Bits::B1 { Err("a truth value has no form in memory".into()) } else { Ok(()) }
    }

    fn memory_result(&self) -> Check {
        Self::in_memory(self.some_result()?)
    }

    fn store(&self, want: &[Type]) -> Check {
        self.prefix(want, 1)?;
        Self::in_memory(self.types[want.len()]).and(self.no_result())
    }

    fn atomic(&self, op: AtomicOp, want: &[Type]) -> Check {
        let data = match op {
            AtomicOp::Load => 0,
            AtomicOp::CompareExchange => 2,
            _ => 1,
        };
        self.prefix(want, data)?;
        self.atomic_data(op, &self.types[want.len()..])
    }

    /// Checks data operands of one scalar type, and the old value's type if there is a result.
    fn atomic_data(&self, op: AtomicOp, data: &[Type]) -> Check {
        let Some(ty) = data.first().copied().or(self.result) else { return Err("no result".into()) };
        if !ty.is_scalar() || !matches!(ty.bits(), Bits::B32 | Bits::B64) {
            return Err(format!("no atomic on {ty}"));
        }
        if data.iter().any(|&t| t != ty) || self.result.is_some_and(|r| r != ty) {
            return Err("data and result differ in type".into());
        }
        if op == AtomicOp::Load && self.result.is_none() { Err("no result".into()) } else { Ok(()) }
    }

    fn exists(&self, what: &str, index: usize, len: usize) -> Check {
        if index < len { Ok(()) } else { Err(format!("{what} {index} does not exist")) }
    }

    fn local(&self, index: usize) -> Check {
        self.exists("local", index, self.shader.locals.len())
    }

    /// Checks the operands that give the location in the pixel.
    fn place(&self, place: InterpPlace) -> Check {
        match place {
            InterpPlace::AtOffset => self.args(&[Type::B32, Type::B32]),
            InterpPlace::AtSample => self.args(&[Type::B32]),
            InterpPlace::Center | InterpPlace::Centroid | InterpPlace::Sample => self.args(&[]),
        }
    }

    fn component(&self, n: u8) -> Check {
        if n < 4 { Ok(()) } else { Err(format!("component {n}")) }
    }

    /// Checks for one to four 32-bit components (or one 64-bit component, which some formats have).
    fn channels(&self, ty: Type) -> Check {
        let fits = (ty.bits() == Bits::B32 && ty.lanes() <= 4) || ty == Type::B64;
        if fits { Ok(()) } else { Err(format!("{ty} is not one to four components of 32 bits")) }
    }

    fn alu(&self, op: super::alu::AluOp) -> Check {
        let result = self.some_result()?;
        if !result.is_scalar() && self.shader.level == ShaderLevel::Upper {
            return Err("arithmetic of the upper level is scalar".into());
        }
        match op.result_type(self.types, result) {
            None => Err("operand types break the rule of the operation".into()),
            Some(ty) => self.result(ty),
        }?;
        // Only types with a float form may be float operands or results.
        let fits = |t: &Type| t.can_be_float() || t.is_pair();
        let float_in = op.takes_float() && !self.types.first().is_none_or(fits);
        let float_out = op.gives_float() && !fits(&result);
        if float_in || float_out {
            return Err("no float has this width".into());
        }
        let (from, to) = (self.types[0].bits(), result.bits());
        match op {
            super::alu::AluOp::ZExt | super::alu::AluOp::SExt if from >= to => Err("an extension widens".into()),
            super::alu::AluOp::Trunc if from <= to => Err("a truncation narrows".into()),
            _ => Ok(()),
        }
    }

    fn image(&self, image: &ImageInst) -> Check {
        let operands = image.operands();
        self.prefix(&[], operands.len())?;
        for (operand, &ty) in operands.iter().zip(self.types) {
            let fits = match operand {
                ImageOperand::Image if image.dim == Dim::Buffer => ty == Type::DESC4,
                ImageOperand::Image => ty == Type::DESC8,
                ImageOperand::Sampler => ty == Type::DESC4,
                ImageOperand::Data if image.op == ImageOp::Store => {
                    matches!(ty.bits(), Bits::B16 | Bits::B32 | Bits::B64) && ty.lanes() <= 4
                }
                ImageOperand::Data | ImageOperand::AtomicCompare => ty == Type::B32 || ty == Type::B64,
                ImageOperand::Compare => ty == Type::B32,
                _ => ty == Type::B32,
            };
            if !fits {
                return Err(format!("{operand:?} is {ty}"));
            }
        }
        if image.dim == Dim::Buffer && (image.arrayed || image.multisampled || image.lod == LodMode::Gradient) {
            return Err("a buffer has neither layers, samples nor levels".into());
        }
        let texel = |lanes| {
            let ty = self.some_result()?;
            let narrow_or_wide = !image.sparse && matches!(ty.bits(), Bits::B16 | Bits::B64);
            let fits = ty.lanes() == lanes + u32::from(image.sparse) && (ty.bits() == Bits::B32 || narrow_or_wide);
            if fits { Ok(()) } else { Err(format!("the result is {ty}")) }
        };
        match image.op {
            ImageOp::Sample => texel(if image.compare { 1 } else { 4 }),
            ImageOp::Gather(component) => self.component(component).and(texel(4)),
            // With a residency code, a texel of 64 bits is two words.
            ImageOp::Fetch | ImageOp::Load if image.sparse => texel(4).or_else(|_| texel(2)),
            ImageOp::Fetch | ImageOp::Load => texel(4),
            ImageOp::Store => self.no_result(),
            ImageOp::Atomic(op) => {
                let data: SmallVec<[Type; 2]> = operands
                    .iter()
                    .zip(self.types)
                    .filter(|(o, _)| matches!(o, ImageOperand::Data | ImageOperand::AtomicCompare))
                    .map(|(_, &t)| t)
                    .collect();
                self.atomic_data(op, &data)
            }
            ImageOp::QuerySize => self.result(Type::DESC4),
            ImageOp::QueryLevels | ImageOp::QuerySamples => self.result(Type::B32),
            ImageOp::QueryLod => texel(2),
        }
    }

    fn mimg(&self, image: &MimgInst) -> Check {
        self.prefix(&[], image.operands())?;
        let sampling = matches!(image.op, MimgOp::Sample | MimgOp::Gather4 | MimgOp::GetLod);
        if self.types[0] != Type::DESC8 || (sampling && self.types.get(1) != Some(&Type::DESC4)) {
            return Err("a descriptor has the wrong size".into());
        }
        let first = 1 + usize::from(sampling);
        let channels = image.dmask.count_ones();
        let rest = match image.op {
            MimgOp::Store | MimgOp::StoreMip => {
                let data = self.types[first];
                if data.lanes() != channels || !matches!(data.bits(), Bits::B16 | Bits::B32) {
                    return Err(format!("data is {data}, the mask has {channels} channels"));
                }
                self.no_result()?;
                first + 1
            }
            MimgOp::Atomic(op) => {
                let count = 1 + usize::from(op == AtomicOp::CompareExchange);
                self.atomic_data(op, &self.types[first..first + count])?;
                first + count
            }
            _ => {
                let lanes = if image.op == MimgOp::Gather4 { 4 } else { channels } + u32::from(image.tfe);
                let ty = self.some_result()?;
                if ty.lanes() != lanes || !matches!(ty.bits(), Bits::B16 | Bits::B32) {
                    return Err(format!("the result is {ty}, the mask has {channels} channels"));
                }
                first
            }
        };
        // The packed offset and the comparator always have 32 bits; all other address components have the same width.
        let address = &self.types[rest..];
        let compare = image.compare.then(|| usize::from(image.offset) + usize::from(image.lod == LodMode::Bias));
        let fixed = |n: usize| (image.offset && n == 0) || compare == Some(n);
        let width = address.iter().enumerate().find(|(n, _)| !fixed(*n)).map_or(Type::B32, |(_, t)| *t);
        let wrong = |(n, t): &(usize, &Type)| **t != if fixed(*n) { Type::B32 } else { width };
        match address.iter().enumerate().find(wrong) {
            _ if width != Type::B32 && width != Type::B16 => Err(format!("an address component is {width}")),
            Some((_, t)) => Err(format!("an address of {width} has a component of {t}")),
            None => Ok(()),
        }
    }

    fn subgroup(&self, op: &SubgroupOp) -> Check {
        let same = |more: &[Type]| {
            let ty = *self.types.first().ok_or("a value expected")?;
            if !ty.is_scalar() {
                return Err(format!("{ty} is no scalar"));
            }
            let want: SmallVec<[Type; 4]> = std::iter::once(ty).chain(more.iter().copied()).collect();
            self.args(&want).and(self.result(ty))
        };
        match op {
            SubgroupOp::Elect => self.args(&[]).and(self.result(Type::B1)),
            SubgroupOp::Ballot => self.args(&[Type::B1]).and(self.result(Type::B64)),
            SubgroupOp::All | SubgroupOp::Any => self.args(&[Type::B1]).and(self.result(Type::B1)),
            SubgroupOp::AllEqual => self.one().and(self.result(Type::B1)),
            SubgroupOp::BroadcastFirst | SubgroupOp::QuadSwap(_) => same(&[]),
            SubgroupOp::Broadcast
            | SubgroupOp::Shuffle
            | SubgroupOp::ShuffleXor
            | SubgroupOp::ShuffleUp
            | SubgroupOp::ShuffleDown
            | SubgroupOp::QuadBroadcast => same(&[Type::B32]),
            SubgroupOp::Rotate(cluster) => self.cluster(*cluster).and(same(&[Type::B32])),
            SubgroupOp::Reduce(_, cluster) => self.cluster(*cluster).and(same(&[])),
            SubgroupOp::InclusiveScan(_) | SubgroupOp::ExclusiveScan(_) => same(&[]),
        }
    }

    fn cluster(&self, n: u8) -> Check {
        if n == 0 || (n.is_power_of_two() && n <= 64) { Ok(()) } else { Err(format!("clusters of {n}")) }
    }

    /// Checks for a mask with one bit per lane of the wave, if the wave size is known.
    fn mask(&self, ty: Type) -> Check {
        let wave = self.shader.lower.as_ref().map(|lower| lower.wave.lanes());
        let fits = ty == Type::B32 || ty == Type::B64;
        if fits && wave.is_none_or(|lanes| lanes == ty.total_bits()) {
            Ok(())
        } else {
            Err(format!("{ty} is no mask of the wave's lanes"))
        }
    }

    fn amd(&self, op: &LaneOp) -> Check {
        let b32 = |count| self.all(count, Type::B32).and(self.result(Type::B32));
        match op {
            LaneOp::ReadFirstLane => {
                let ty = self.one()?;
                Self::in_memory(ty).and(self.result(ty))
            }
            // Row broadcasts and whole-wave shifts do not exist on gfx10.
            LaneOp::Dpp { ctrl: ctrl @ (0x130..=0x13f | 0x142 | 0x143 | 0x170..), .. } => {
                Err(format!("DPP control {ctrl:#x} is not one of gfx10"))
            }
            LaneOp::ReadLane | LaneOp::Dpp { .. } | LaneOp::PermlaneX16 { .. } => b32(2),
            LaneOp::BPermute | LaneOp::SetInactive => b32(2),
            LaneOp::WriteLane => b32(3),
            LaneOp::Ballot => self.args(&[Type::B1]).and(self.mask(self.some_result()?)),
            LaneOp::MaskBitCount => self.mask(self.one()?).and(self.result(Type::B32)),
            LaneOp::StrictWwm | LaneOp::Wqm => b32(1),
            LaneOp::LiveMask => self.args(&[]).and(self.result(Type::B1)),
            LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa => b32(3),
        }
    }
}
