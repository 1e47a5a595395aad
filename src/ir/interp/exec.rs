//! Executes IR instructions, one wave at a time.

use super::bits::of_float_bits;
use super::machine::{Bound, Machine, store, unsupported};
use super::memory::ShadowedMemory;
use super::races::Touch;
use super::shadow::{Shadow, is_free, of_float};
use super::wave::{ENDED, Stop, Wave, lanes as lanes_of};
use super::{atomic, bounds, cube, lanes};
use dovetail_base::error::{Context, Error, Result};
use dovetail_ir::AmdOp;
use dovetail_ir::Shader;
use dovetail_ir::number::{decode, encode, float, integer};
use dovetail_ir::{
    AluOp, Bits, BuiltIn, DescriptorPart, FpFlags, Inst, Interp, InterpPlace, LaneOp, LocalId, Op, Scope, Terminator,
    Value,
};
use smallvec::SmallVec;

impl Machine<'_> {
    /// Runs until a barrier or the end.
    pub fn run(&mut self, wave: &mut Wave) -> Result<Stop> {
        let shader = self.shader;
        loop {
            let (id, mut from, mask) = match wave.resume.take() {
                Some(resume) => resume,
                None => match wave.next() {
                    Some((at, mask)) => (self.order.get(at as usize).copied().unwrap_or(Shader::ENTRY), 0, mask),
                    None => return Ok(Stop::End),
                },
            };
            let block = shader.block(id);
            while let Some(&inst_id) = block.insts.get(from) {
                from += 1;
                self.count()?;
                let inst = shader.inst(inst_id);
                if let Op::Barrier { exec: Scope::Workgroup, .. } = inst.op {
                    wave.resume = Some((id, from, mask));
                    return Ok(Stop::Barrier);
                }
                self.inst(wave, inst, mask).at(|| format!("`{}`", shader.inst_text(inst)))?;
            }
            self.count()?;
            self.terminate(wave, block.term(), mask).at(|| id.to_string())?;
        }
    }

    fn count(&mut self) -> Result<()> {
        self.stats.instructions += 1;
        if self.stats.instructions > self.options.limit {
            return Err(Error::malformed(format!("more than {} instructions", self.options.limit)));
        }
        Ok(())
    }

    fn terminate(&mut self, wave: &mut Wave, term: Option<Terminator<'_>>, mask: u64) -> Result<()> {
        for lane in lanes_of(mask) {
            let call = match term {
                Some(Terminator::Jump(call)) => call,
                Some(Terminator::Branch { cond, then, els }) => {
                    if self.decide(wave, cond, lane) & 1 != 0 {
                        then
                    } else {
                        els
                    }
                }
                Some(Terminator::Switch { value, cases, default }) => {
                    let value = self.decide(wave, value, lane);
                    cases.iter().find(|(n, _)| *n == value).map_or(default, |(_, call)| call)
                }
                Some(Terminator::Return(_)) => {
                    wave.at[lane] = ENDED;
                    continue;
                }
                Some(Terminator::Unreachable) => return Err(Error::malformed("an unreachable block is reached")),
                None => return Err(Error::bug("a block without an end")),
            };
            wave.jump(self, call, lane);
        }
        Ok(())
    }

    /// Reads a value that decides which path a lane takes.
    fn decide(&mut self, wave: &mut Wave, v: Value, lane: usize) -> u64 {
        let (bits, shadow) = self.arg(wave, v, lane);
        if !shadow.is_exact() {
            self.doubt(wave, lane);
        }
        bits
    }

    /// Marks a lane whose path is uncertain from here on: another implementation may have written elsewhere.
    fn doubt(&mut self, wave: &mut Wave, lane: usize) {
        wave.tainted |= 1 << lane;
        self.world.doubtful = true;
    }

    fn inst(&mut self, wave: &mut Wave, inst: &Inst, mask: u64) -> Result<()> {
        match &inst.op {
            Op::Barrier { .. } | Op::Fence { .. } | Op::LoopToken | Op::StayInLoop => Ok(()),
            Op::Subgroup(op) => lanes::subgroup(self, wave, inst, *op, mask),
            Op::Derivative(kind) => lanes::derivative(self, wave, inst, *kind, mask),
            Op::Image(image) => {
                let image = *image;
                self.image(wave, inst, &image, mask)
            }
            Op::Descriptor { non_uniform: false, .. } if !self.is_uniform(wave, inst, mask & !wave.helpers) => {
                Err(Error::malformed("several descriptors by an index that is not marked as non-uniform"))
            }
            _ if self.options.backwards => {
                let mut lanes: SmallVec<[usize; 64]> = lanes_of(mask).collect();
                lanes.reverse();
                lanes.into_iter().try_for_each(|lane| self.lane(wave, inst, lane))
            }
            _ => lanes_of(mask).try_for_each(|lane| self.lane(wave, inst, lane)),
        }
    }

    /// Whether an instruction's first operand is the same in some lanes.
    fn is_uniform(&self, wave: &Wave, inst: &Inst, mask: u64) -> bool {
        let Some(&v) = inst.args.first() else { return true };
        let mut values = lanes_of(mask).map(|lane| self.arg(wave, v, lane).0);
        let first = values.next();
        values.all(|value| Some(value) == first)
    }

    /// Runs an instruction that affects only one lane.
    fn lane(&mut self, wave: &mut Wave, inst: &Inst, lane: usize) -> Result<()> {
        let arg = |wave: &Wave, n: usize| inst.args.get(n).map_or((0, Shadow::NONE), |&v| self.arg(wave, v, lane));
        match &inst.op {
            Op::Const(bits) => self.set(wave, inst, lane, *bits, Shadow::NONE),
            Op::Undef => {
                let Some(result) = inst.result else { return Ok(()) };
                self.registers_of(result).for_each(|r| wave.set(r, lane, 0, Shadow::UNDEFINED));
            }
            Op::Alu(op, flags) => self.alu(wave, inst, *op, *flags, lane)?,
            Op::Compose => {
                let Some(result) = inst.result else { return Ok(()) };
                for (register, &v) in self.registers_of(result).zip(&inst.args) {
                    let (bits, shadow) = self.arg(wave, v, lane);
                    wave.set(register, lane, bits, shadow);
                }
            }
            Op::Extract(component) => {
                let Some(register) = inst.args.first().map(|&v| self.registers_of(v).start + usize::from(*component))
                else {
                    return Ok(());
                };
                self.set(wave, inst, lane, wave.get(register, lane), wave.shadow(register, lane));
            }
            Op::Bitcast => self.bitcast(wave, inst, lane),
            Op::LocalLoad { local, .. } | Op::LocalStore { local, .. } => self.local(wave, inst, lane, *local),
            Op::ConstLoad { table, .. } => {
                let (offset, shadow) = arg(wave, 0);
                let empty = ShadowedMemory::default();
                let table = self.tables.get(table.index()).unwrap_or(&empty);
                let shadow = bounds::within(shadow, table, offset, self.bytes_of(inst, None));
                self.loaded(wave, inst, lane, table, offset, shadow);
            }
            Op::PushConstant { .. } => {
                let (offset, shadow) = arg(wave, 0);
                let memory = &self.world.push_constants;
                let shadow = bounds::within(shadow, memory, offset, self.bytes_of(inst, None));
                self.loaded(wave, inst, lane, memory, offset, shadow);
            }
            Op::SharedLoad { .. } => {
                let (offset, shadow) = arg(wave, 0);
                let inside = self.in_shared(inst, offset, self.bytes_of(inst, None));
                self.loaded(wave, inst, lane, &self.shared, offset, if inside { shadow } else { Shadow::UNCERTAIN });
                self.touched(wave, lane, None, offset, self.bytes_of(inst, None), Touch::Read);
            }
            Op::SharedStore { .. } => {
                let (offset, shadow) = arg(wave, 0);
                let values = self.values(wave, inst, 1, lane);
                if self.in_shared(inst, offset, self.bytes_of(inst, Some(1))) {
                    store(&mut self.shared, offset, shadow, &values);
                    self.touched(wave, lane, None, offset, self.bytes_of(inst, Some(1)), Touch::Write);
                } else {
                    self.shared.forget();
                }
            }
            Op::SharedAtomic(op) => {
                let (offset, shadow) = arg(wave, 0);
                let data = [arg(wave, 1), arg(wave, 2)];
                let bits = self.atomic_width(inst, 1);
                if self.in_shared(inst, offset, bits.bytes()) {
                    let old = atomic::run(&mut self.shared, offset, *op, bits, data, shadow);
                    self.touched(wave, lane, None, offset, bits.bytes(), Touch::Atomic);
                    self.set(wave, inst, lane, old.0, old.1);
                } else {
                    self.shared.forget();
                    self.set(wave, inst, lane, 0, Shadow::UNCERTAIN);
                }
            }
            Op::BufferLoad { access, .. } => {
                let ((offset, shadow), place) = (arg(wave, 1), self.place(wave, inst, lane));
                let shadow = self.seen_unwritten(inst, place, access.read_only, offset, shadow);
                let empty = ShadowedMemory::default();
                let memory = place.and_then(|p| self.world.buffers.get(&p)).unwrap_or(&empty);
                self.loaded(wave, inst, lane, memory, offset, shadow);
                if place.is_some() {
                    self.touched(wave, lane, place, offset, self.bytes_of(inst, None), Touch::Read);
                }
            }
            Op::BufferStore { .. } => {
                let ((offset, shadow), place) = (arg(wave, 1), self.place(wave, inst, lane));
                let values = self.values(wave, inst, 2, lane);
                let memory = place.and_then(|p| self.world.buffers.get_mut(&p));
                if let Some(memory) = memory.filter(|_| wave.helpers >> lane & 1 == 0) {
                    store(memory, offset, shadow, &values);
                    let bytes = values.iter().map(|v| v.2.bytes()).sum();
                    self.watch(wave, lane, place, offset, bytes);
                    self.touched(wave, lane, place, offset, bytes, Touch::Write);
                }
            }
            Op::BufferAtomic { op, .. } => {
                let ((offset, shadow), place) = (arg(wave, 1), self.place(wave, inst, lane));
                let data = [arg(wave, 2), arg(wave, 3)];
                let bits = self.atomic_width(inst, 2);
                let memory = place.and_then(|p| self.world.buffers.get_mut(&p));
                let old = match memory.filter(|_| wave.helpers >> lane & 1 == 0) {
                    Some(memory) => {
                        let old = atomic::run(memory, offset, *op, bits, data, shadow);
                        self.watch(wave, lane, place, offset, bits.bytes());
                        self.touched(wave, lane, place, offset, bits.bytes(), Touch::Atomic);
                        old
                    }
                    None => (0, Shadow::NONE),
                };
                self.set(wave, inst, lane, old.0, old.1);
            }
            Op::GlobalLoad { .. } | Op::GlobalStore { .. } | Op::GlobalAtomic { .. } => {
                self.global(wave, inst, lane)?;
            }
            Op::BufferSize => {
                let size = self.place(wave, inst, lane).and_then(|p| self.world.buffers.get(&p));
                self.set(wave, inst, lane, size.map_or(0, |m| m.bytes().len() as u64), Shadow::NONE);
            }
            Op::Descriptor { resource, part, .. } => {
                let element = arg(wave, 0).0;
                let used = self.shader.resources.get(resource.index());
                if let Some(r) = used.filter(|_| wave.helpers >> lane & 1 == 0) {
                    self.world.check_descriptor(r, element)?;
                }
                let Some(result) = inst.result else { return Ok(()) };
                let part = match part {
                    DescriptorPart::Sampler => 1,
                    DescriptorPart::Image1 | DescriptorPart::Image2 => {
                        return Err(Error::unsupported("interpreting planes", "conversions are run by the emulator"));
                    }
                    DescriptorPart::Buffer | DescriptorPart::Image | DescriptorPart::TexelBuffer => 0,
                };
                let words = [u64::from(resource.0) + 1, element, part];
                for (n, register) in self.registers_of(result).enumerate() {
                    wave.set(register, lane, words.get(n).copied().unwrap_or(0), Shadow::NONE);
                }
            }
            Op::LoadBuiltIn { builtin, place: InterpPlace::AtOffset, .. } => {
                return Err(Error::unsupported("interpreting interpolation", format!("{builtin:?} at an offset")));
            }
            Op::LoadInput { location, component, interp, .. } => {
                let at = (*location, *component);
                let bits = inst.result.map_or(Bits::B32, |v| self.shader.ty(v).bits());
                let input = wave.invocations.get(lane).and_then(|invocation| match interp {
                    Interp::Vertex(n) => {
                        invocation.vertices.get(&at).and_then(|each| each.get(usize::from(*n))).copied()
                    }
                    Interp::Flat => invocation.inputs.get(&at).copied(),
                    Interp::At { place, .. } => match (place, invocation.planes.get(&at)) {
                        (InterpPlace::AtOffset, Some(plane)) => {
                            let [x, y] =
                                [arg(wave, 0), arg(wave, 1)].map(|(bits, shadow)| shadow.number(bits, Bits::B32));
                            Some(plane.at([x.0, y.0], x.1.max(y.1), bits))
                        }
                        (InterpPlace::AtSample, Some(plane)) => {
                            let (number, shadow) = arg(wave, 0);
                            let place = usize::try_from(number).ok().and_then(|n| self.world.sample_places.get(n));
                            let known = place.filter(|_| shadow.is_exact()).map(|place| place.map(|x| x - 0.5));
                            Some(plane.at(
                                known.unwrap_or_default(),
                                if known.is_some() { 0.0 } else { f64::INFINITY },
                                bits,
                            ))
                        }
                        _ => invocation.placed.get(&(*place, at)).or_else(|| invocation.inputs.get(&at)).copied(),
                    },
                });
                let (bits, shadow) = input.unwrap_or((0, Shadow::NONE));
                self.set(wave, inst, lane, bits, shadow);
            }
            Op::LoadBuiltIn { builtin, component, place } => {
                let invocation = wave.invocations.get(lane);
                let placed = invocation.and_then(|i| i.placed_builtins.get(&(*place, *builtin, *component)));
                let (bits, shadow) = match placed {
                    Some(placed) => *placed,
                    None => self.builtin(wave, *builtin, *component, lane)?,
                };
                self.set(wave, inst, lane, bits, shadow);
            }
            Op::StoreOutput { slot, .. } => {
                let value = arg(wave, 0);
                if let Some(invocation) = wave.invocations.get_mut(lane) {
                    invocation.outputs.insert(*slot, value);
                }
            }
            Op::DemoteIf => {
                let (cond, shadow) = arg(wave, 0);
                if !shadow.is_exact() {
                    self.doubt(wave, lane);
                }
                wave.helpers |= (cond & 1) << lane;
            }
            Op::Within(bound) => {
                let (index, shadow) = arg(wave, 0);
                if self.options.strict && index >= u64::from(*bound) && wave.helpers >> lane & 1 == 0 {
                    return Err(Error::malformed(format!("index {index} beyond an array of {bound}")));
                }
                let shadow = if index < u64::from(*bound) { shadow } else { Shadow::UNCERTAIN };
                self.set(wave, inst, lane, index, shadow);
            }
            Op::IsHelper => self.set(wave, inst, lane, wave.helpers >> lane & 1, Shadow::NONE),
            Op::Target(AmdOp::Lane(LaneOp::LiveMask)) => {
                self.set(wave, inst, lane, !wave.helpers >> lane & 1, Shadow::NONE)
            }
            Op::Target(AmdOp::Lane(op @ (LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa))) => {
                let args = [0, 1, 2].map(|n| arg(wave, n));
                let (number, shadow) = cube::primitive(*op, args);
                self.set(wave, inst, lane, encode(number, Bits::B32), shadow);
            }
            other => return Err(unsupported(other)),
        }
        Ok(())
    }

    fn alu(&mut self, wave: &mut Wave, inst: &Inst, op: AluOp, flags: FpFlags, lane: usize) -> Result<()> {
        let (mut args, mut shadows) = ([0; 3], [Shadow::NONE; 3]);
        for (n, &v) in inst.args.iter().take(3).enumerate() {
            (args[n], shadows[n]) = self.arg(wave, v, lane);
        }
        if let Some(result) = inst.result.filter(|_| op.compares() || matches!(op, AluOp::FSub | AluOp::ISub)) {
            self.world.compare(result, [args[0], args[1]]);
        }
        let from = inst.args.first().map_or(Bits::B32, |&v| self.shader.ty(v).bits());
        let to = inst.result.map_or(from, |v| self.shader.ty(v).bits());
        let result = if op.takes_float() { float(op, args, from, to) } else { integer(op, args, from, to) };
        let Some(result) = result else {
            return Err(Error::unsupported("interpreting arithmetic", op.name()));
        };
        let shadow = if !self.options.shadow {
            Shadow::NONE
        } else if op == AluOp::Select {
            let both = [(args[1], shadows[1]), (args[2], shadows[2])];
            let [chosen, other] = if args[0] & 1 != 0 { both } else { [both[1], both[0]] };
            let floats = shadows[1].is_float() || shadows[2].is_float();
            Shadow::of_select(shadows[0], chosen, other, to, floats)
        } else if is_free(op, args, from) {
            Shadow::UNCERTAIN
        } else if op.takes_float() {
            of_float(op, args, shadows, from, to, result, self.shader.modes.denorm)
        } else {
            let used = &shadows[..inst.args.len().min(3)];
            match (of_float_bits(op, args, shadows, from, result).unwrap_or(Shadow::of_bits(used)), op) {
                // A conversion that rounds gives its result a shadow.
                (Shadow::NONE, AluOp::S2F | AluOp::U2F) => {
                    let exact = if op == AluOp::S2F {
                        dovetail_ir::number::signed(args[0], from.count()) as f64
                    } else {
                        args[0] as f64
                    };
                    let value = decode(result, to);
                    let bound = if value == exact { 0.0 } else { dovetail_ir::number::ulp(value, to) };
                    Shadow { value: exact, bound }
                }
                (shadow, _) => shadow,
            }
        };
        let coarse = self.options.shadow && flags.has(FpFlags::COARSE);
        self.set(wave, inst, lane, result, if coarse { shadow.coarse(result, to) } else { shadow });
        Ok(())
    }

    fn bitcast(&self, wave: &mut Wave, inst: &Inst, lane: usize) {
        let (Some(&arg), Some(result)) = (inst.args.first(), inst.result) else { return };
        let (from, to) = (self.shader.ty(arg), self.shader.ty(result));
        let shadows: SmallVec<[Shadow; 4]> = self.registers_of(arg).map(|r| wave.shadow(r, lane)).collect();
        let words: SmallVec<[u64; 4]> = self.registers_of(arg).map(|r| wave.get(r, lane)).collect();
        let narrow = Shadow::of_bits(&shadows);
        for (n, register) in self.registers_of(result).enumerate() {
            if from.bits() == to.bits() {
                wave.set(register, lane, words[n], shadows[n]);
                continue;
            }
            let (a, b) = (from.bits().count(), to.bits().count());
            let at = n as u32 * b;
            let bits = if a > b {
                words[(at / a) as usize] >> (at % a)
            } else {
                (0..b / a).fold(0, |bits, k| bits | words[(at / a + k) as usize] << (k * a))
            };
            let shadow =
                self.before_packing(wave, arg, to.bits(), n, lane).filter(|was| was.0 == bits & to.bits().mask());
            wave.set(register, lane, bits & to.bits().mask(), shadow.map_or(narrow, |was| was.1));
        }
    }

    /// The component that was packed into a word, as GLSL's `packHalf2x16` does before `unpackHalf2x16`: a word has no
    /// shadow for each half.
    fn before_packing(&self, wave: &Wave, word: Value, part: Bits, n: usize, lane: usize) -> Option<(u64, Shadow)> {
        let packing = self.shader.def(word).filter(|inst| matches!(inst.op, Op::Bitcast))?;
        let &packed = packing.args.first().filter(|v| self.shader.ty(**v).bits() == part)?;
        let register = self.registers_of(packed).nth(n)?;
        Some((wave.get(register, lane), wave.shadow(register, lane)))
    }

    /// Loads a local, or stores to it if the instruction has a value.
    fn local(&self, wave: &mut Wave, inst: &Inst, lane: usize, local: LocalId) {
        let Some(&offset) = inst.args.first() else { return };
        let (offset, shadow) = self.arg(wave, offset, lane);
        let Some(ty) = inst.result.or(inst.args.get(1).copied()).map(|v| self.shader.ty(v)) else { return };
        let size = self.shader.locals.get(local.index()).map_or(0, |l| u64::from(l.bytes));
        let start = self.locals.get(local.index()).copied().unwrap_or(0);
        let inside = offset.checked_add(u64::from(ty.bytes())).is_some_and(|end| end <= size);
        let base = u64::from(self.scratch_bytes) * lane as u64 + u64::from(start);
        // Outside a local a read is undefined, and a write may hit anything.
        let (at, shadow) = if inside { (base + offset, shadow) } else { (u64::MAX / 2, Shadow::UNCERTAIN) };
        if inst.result.is_some() {
            let scratch = std::mem::take(&mut wave.scratch);
            self.loaded(wave, inst, lane, &scratch, at, shadow);
            wave.scratch = scratch;
        } else if !inside {
            wave.scratch.forget();
        } else {
            let values = self.values(wave, inst, 1, lane);
            store(&mut wave.scratch, at, shadow, &values);
        }
    }

    /// Bytes of an operand, or of the result.
    fn bytes_of(&self, inst: &Inst, operand: Option<usize>) -> u32 {
        let value = operand.map_or(inst.result, |n| inst.args.get(n).copied());
        value.map_or(0, |v| self.shader.ty(v).bytes())
    }

    /// Whether an access to workgroup memory stays within its variable.
    fn in_shared(&self, inst: &Inst, offset: u64, bytes: u32) -> bool {
        let all = self.shader.shared_bytes;
        self.reach.of(self.shader, inst, all).is_some_and(|reach| bounds::inside(&reach, offset, bytes))
    }

    /// Resource that a descriptor operand points to: set, binding and element.
    fn place(&self, wave: &Wave, inst: &Inst, lane: usize) -> Option<Bound> {
        self.place_of(wave, *inst.args.first()?, lane)
    }

    fn builtin(&self, wave: &Wave, builtin: BuiltIn, component: u8, lane: usize) -> Result<(u64, Shadow)> {
        use BuiltIn as B;
        let n = usize::from(component);
        let local = self.shader.modes.local_id(wave.first + lane as u32);
        let [x, y, _] = self.shader.modes.local_size.map(|n| n.max(1));
        let lanes = self.options.subgroup_size;
        let own = 1u64 << lane;
        let all = u64::MAX >> (64 - lanes);
        let half = |mask: u64| if component == 0 { mask & 0xffff_ffff } else { mask >> 32 };
        let invocation = wave.invocations.get(lane);
        if let Some(bits) = invocation.and_then(|i| i.builtins.get(&(builtin, component))) {
            return Ok(*bits);
        }
        let group_size: u32 = self.shader.modes.local_size.iter().map(|n| n.max(&1)).product();
        let bits = match builtin {
            B::NumWorkgroups => self.grid.get(n).copied().unwrap_or(1).into(),
            B::WorkgroupId => self.group.get(n).copied().unwrap_or(0).into(),
            B::LocalInvocationId => local.get(n).copied().unwrap_or(0).into(),
            B::LocalInvocationIndex => (local[0] + x * (local[1] + y * local[2])).into(),
            B::SubgroupSize => lanes.into(),
            B::SubgroupLocalInvocationId => lane as u64,
            B::SubgroupId => wave.number.into(),
            B::NumSubgroups => group_size.div_ceil(lanes).into(),
            B::SubgroupEqMask => half(own),
            B::SubgroupLtMask => half(own - 1),
            B::SubgroupLeMask => half((own - 1) | own),
            B::SubgroupGeMask => half(all & !(own - 1)),
            B::SubgroupGtMask => half(all & !((own - 1) | own)),
            B::HelperInvocation => u64::from(invocation.is_some_and(|i| i.helper)),
            B::DeviceIndex | B::ViewIndex => 0,
            other => return Err(Error::unsupported("interpreting a built-in", format!("{other:?}"))),
        };
        Ok((bits, Shadow::NONE))
    }

    /// Certainty of a buffer load. If a variable is never written but its binding is, the load may or may not see any
    /// write of the run.
    fn seen_unwritten(
        &mut self,
        inst: &Inst,
        place: Option<Bound>,
        read_only: bool,
        at: u64,
        address: Shadow,
    ) -> Shadow {
        let Some(place) = place.filter(|p| self.reach.written.contains(&(p.0, p.1))) else { return address };
        if !read_only && !self.world.restricted.contains(&(place.0, place.1)) {
            return address;
        }
        let bytes = inst.result.map_or(0, |v| self.shader.ty(v).bytes());
        let words = at / 4..at.saturating_add(u64::from(bytes)).div_ceil(4).min(at / 4 + 64);
        let conflict = words.clone().any(|word| self.world.conflicts.contains(&(place, word)));
        let memory = self.world.buffers.get(&place);
        let written = (at..at.saturating_add(bytes.into()))
            .any(|byte| memory.is_some_and(|m| usize::try_from(byte).is_ok_and(|byte| m.is_written(byte))));
        self.world.seen.extend(words.map(|word| (place, word)));
        if conflict || written && read_only { Shadow::UNCERTAIN } else { address }
    }
}
