//! Fragment shaders: their inputs and outputs, and what the generator tracks to produce only defined results.
//!
//! Results that an implementation may choose are never stored:
//!
//! * Quad operations are used only where the four lanes of a quad take the same path and none of them has ended.
//! * Subgroup operations are used only where all lanes are live pixels, because helper participation is unspecified.
//! * A helper's atomic has no result.
//! * Coarse derivatives are taken only of values that change by the same amount between all pixels of a quad.

use super::super::random::Random;
use super::generate::{Gen, Kind, Same};
use super::scene::{FLAT, Format, SMOOTH, SMOOTH_BITS, Scene};
use dovetail::ir::{
    AluOp, Bits, BlockCall, BlockId, BuiltIn, FpFlags, InstArgs, Interp, InterpPlace, NumericKind, Op, OutputSlot,
    Terminator, Type, Value,
};

/// A colour output.
#[derive(Clone, Copy, Debug)]
struct Output {
    location: u32,
    format: Format,
    /// B32, or possibly B16 if the attachment holds no more.
    ty: Type,
}

/// What the generator tracks for a fragment shader.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Pixels per row and column, for numbering fragments.
    pitch: [u32; 2],
    outputs: Vec<Output>,
    depth: bool,
    stencil: bool,
    sample_mask: bool,
    /// Early tests: the shader's outputs do not affect them.
    early: bool,
    /// No pixel is ever a helper.
    pub no_helpers: bool,
    /// If all lanes here are live pixels: the number of loops and switches that enclosed the point where that began.
    pub live: Option<usize>,
    /// Lanes may have ended apart from their quad, or may do so in an enclosing loop.
    pub broken: bool,
    /// Floats that are linear in pixel coordinates.
    pub linear: Vec<Value>,
    perspective: bool,
    exit: Option<BlockId>,
}

impl Fragment {
    /// Random outputs and modes for a scene.
    pub fn new(random: &mut Random, scene: &Scene, seed: u64) -> Self {
        let some: [&[u32]; 7] = [&[0], &[0], &[0, 1], &[1], &[0, 1, 2, 3], &[0, 2], &[]];
        let locations = *random.pick(&some);
        let output = |location: &u32| {
            let format = Format::of(seed, *location);
            let small = format.mask <= 0xffff && (format.kind != NumericKind::Float || format.mask < 0x800);
            let ty = if small && random.once_in(2) { Type::B16 } else { Type::B32 };
            Output { location: *location, format, ty }
        };
        let outputs = locations.iter().map(output).collect();
        let early = random.once_in(6);
        let no_helpers = scene.whole_quads() && random.once_in(2);
        Self {
            pitch: scene.pitch(),
            outputs,
            depth: !early && random.once_in(6),
            stencil: !early && random.once_in(8),
            sample_mask: !early && random.once_in(8),
            early,
            no_helpers,
            live: no_helpers.then_some(0),
            broken: random.once_in(5),
            linear: Vec::new(),
            perspective: random.once_in(2),
            exit: None,
        }
    }
}

impl Gen<'_> {
    /// In a fragment shader, turns `Lane` into `Quad` in a third of cases.
    pub fn or_quad(&mut self, same: Same) -> Same {
        if self.fragment.is_some() && same == Same::Lane && self.random.once_in(3) { Same::Quad } else { same }
    }

    /// Whether no lane here is a helper.
    pub fn all_live(&self) -> bool {
        self.fragment.as_ref().is_none_or(|f| f.live.is_some())
    }

    /// Whether lanes may end here.
    pub fn may_break_quads(&self) -> bool {
        // A loop would reach quad operations again, with incomplete quads.
        let again = || self.ways.iter().any(super::control::Way::is_loop);
        self.fragment.as_ref().is_none_or(|f| f.broken || self.same >= Same::Quad || !again())
    }

    // ---- inputs

    fn flat(&mut self, component: u8) -> Value {
        let op = Op::LoadInput { location: FLAT, component, kind: NumericKind::Uint, interp: Interp::Flat };
        let value = self.push(op, &[], Type::B32);
        self.see(value, Kind::INT, Same::Quad);
        value
    }

    /// Loads the inputs and computes the number of the fragment.
    pub fn begin_fragment(&mut self) {
        self.shader.modes.early_fragment_tests = self.fragment.as_ref().is_some_and(|f| f.early);
        let mut number = self.flat(0);
        for component in 1..4 {
            if self.random.once_in(2) {
                self.flat(component);
            }
        }
        let pitch = self.fragment.as_ref().map_or([0; 2], |f| f.pitch);
        for axis in [1, 0] {
            let coord = self.push(Op::load_builtin(BuiltIn::FragCoord, axis), &[], Type::B32);
            let half = self.constant(Type::B32, u64::from(0.5f32.to_bits()));
            let coord = self.alu(AluOp::FSub, &[coord, half]);
            self.linear(coord, 5);
            let whole = self.push(Op::Alu(AluOp::F2U, FpFlags::NONE), &[coord], Type::B32);
            self.see(whole, Kind::INT, Same::Lane);
            let pitch = self.c32(pitch[usize::from(axis)]);
            let first = self.alu(AluOp::IMul, &[number, pitch]);
            number = self.alu(AluOp::IAdd, &[first, whole]);
        }
        self.lane = number;
        self.see(number, Kind::INT, Same::Lane);
        for component in 0..4 {
            if self.random.once_in(2) {
                self.smooth(component);
            }
        }
        if self.random.once_in(2) {
            // A quarter of the depth, and 1.
            let component = *self.random.pick(&[2, 3]);
            let value = self.push(Op::load_builtin(BuiltIn::FragCoord, component), &[], Type::B32);
            let four = self.constant(Type::B32, u64::from(4f32.to_bits()));
            let value = self.alu(AluOp::FMul, &[value, four]);
            let value = self.rounded(value);
            self.see(value, Kind::Float(Bits::B32, 3), Same::Lane);
        }
        for (builtin, kind, same) in [
            (BuiltIn::FrontFacing, Kind::TRUTH, Same::Quad),
            (BuiltIn::HelperInvocation, Kind::TRUTH, Same::Lane),
            (BuiltIn::SampleMaskIn, Kind::INT, Same::Lane),
        ] {
            if self.random.once_in(3) {
                let value = self.push(Op::load_builtin(builtin, 0), &[], kind.ty());
                self.see(value, kind, same);
            }
        }
    }

    fn linear(&mut self, value: Value, bits: u8) {
        self.see(value, Kind::Float(Bits::B32, bits), Same::Lane);
        if let Some(f) = &mut self.fragment {
            f.linear.push(value);
        }
    }

    /// Loads an interpolated input, whose value is an integer.
    fn smooth(&mut self, component: u8) {
        let perspective = self.fragment.as_ref().is_some_and(|f| f.perspective);
        let place = if self.random.once_in(4) { InterpPlace::Centroid } else { InterpPlace::Center };
        let interp = Interp::At { perspective, place };
        let op = Op::LoadInput { location: SMOOTH, component, kind: NumericKind::Float, interp };
        let value = self.push(op, &[], Type::B32);
        let value = self.rounded(value);
        self.linear(value, SMOOTH_BITS);
    }

    /// Rounds a value that may be slightly off, so that it is exact from here on.
    fn rounded(&mut self, value: Value) -> Value {
        let half = self.constant(Type::B32, u64::from(0.5f32.to_bits()));
        let more = self.alu(AluOp::FAdd, &[value, half]);
        self.alu(AluOp::FFloor, &[more])
    }

    // ---- outputs

    /// Slots, types, numeric kinds and formats of all outputs.
    fn slots(&self) -> Vec<(OutputSlot, Type, NumericKind, Format)> {
        let Some(f) = &self.fragment else { return Vec::new() };
        let mut out = Vec::new();
        for Output { location, format, ty } in f.outputs.iter().copied() {
            for component in 0..format.channels {
                out.push((OutputSlot::Location { location, component, index: 0 }, ty, format.kind, format));
            }
        }
        if f.depth {
            out.push((OutputSlot::FragDepth, Type::B32, NumericKind::Float, Format::DEPTH));
        }
        if f.stencil {
            out.push((OutputSlot::FragStencilRef, Type::B32, NumericKind::Sint, Format::STENCIL));
        }
        if f.sample_mask {
            out.push((OutputSlot::SampleMask, Type::B32, NumericKind::Sint, Format::STENCIL));
        }
        out
    }

    /// The single block that returns, as the front end creates it: every path that ends jumps there with the outputs.
    fn exit(&mut self) -> BlockId {
        if let Some(exit) = self.fragment.as_ref().and_then(|f| f.exit) {
            return exit;
        }
        let exit = self.new_block();
        for (slot, ty, kind, _) in self.slots() {
            let value = self.shader.add_param(exit, ty);
            let store = self.shader.add_inst(Op::StoreOutput { slot, kind }, InstArgs::from_slice(&[value]), None);
            self.shader.block_mut(exit).insts.push(store);
        }
        self.shader.block_mut(exit).end.set(Terminator::Return(&[]));
        if let Some(f) = &mut self.fragment {
            f.exit = Some(exit);
        }
        exit
    }

    /// Ends the fragment, with outputs.
    pub fn end_fragment(&mut self) {
        let mut args = Vec::new();
        for (slot, ty, kind, format) in self.slots() {
            let first = matches!(slot, OutputSlot::Location { component: 0, .. });
            let word = if first { self.vars[0].now } else { self.operand(Kind::INT) };
            let mask = self.c32(format.mask);
            let word = self.alu(AluOp::IAnd, &[word, mask]);
            args.push(match kind {
                NumericKind::Float => self.push(Op::Alu(AluOp::U2F, FpFlags::NONE), &[word], ty),
                _ => self.convert(AluOp::Trunc, word, ty),
            });
        }
        self.end_with(args);
    }

    /// Ends a fragment whose outputs are not visible, with arbitrary values.
    pub fn end_dead(&mut self) {
        let args = self.slots().into_iter().map(|(_, ty, ..)| self.operand(Kind::Bits(ty))).collect();
        self.end_with(args);
    }

    fn end_with(&mut self, args: Vec<Value>) {
        let block = self.exit();
        self.end(Terminator::Jump(BlockCall { block, args: &args }));
        let apart = self.same < Same::Quad;
        if let Some(f) = &mut self.fragment {
            f.broken |= apart;
        }
    }
}
