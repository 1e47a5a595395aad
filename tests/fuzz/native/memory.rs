//! Memory: read-only, private to each lane, and shared sums.
//!
//! Workgroup memory has three parts: one dword per lane that other lanes read between barriers, four private dwords per
//! lane, and eight dwords that all lanes add to.

use super::generate::{Gen, Kind, Same};
use super::inputs;
use dovetail::ir::{
    Access, Align, AluOp, AtomicOp, Bits, BufferKind, DescriptorPart, FenceOrder, MemoryClasses, Op, ResourceId, Scope,
    Type, Value,
};

const PLAIN: Access = Access::PLAIN;
const READS: Access = Access { read_only: true, ..PLAIN };
/// Operations whose final result does not depend on order.
const COMMUTATIVE: [AtomicOp; 9] = [
    AtomicOp::IAdd,
    AtomicOp::ISub,
    AtomicOp::SMin,
    AtomicOp::UMin,
    AtomicOp::SMax,
    AtomicOp::UMax,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
];
const SUMS: u32 = 8;

impl Gen<'_> {
    /// Generates an access to any kind of memory.
    pub fn access(&mut self) {
        match self.random.below(12) {
            0..=3 => self.load_something(),
            4 => self.own_buffer(),
            5 => self.by_address(),
            6 => self.own_shared(),
            7 => self.sum(),
            8 => self.exchange(),
            _ => self.private(),
        }
    }

    fn loaded_type(&mut self) -> Type {
        let some = [
            (Bits::B32, 1),
            (Bits::B32, 1),
            (Bits::B32, 2),
            (Bits::B32, 3),
            (Bits::B32, 4),
            (Bits::B64, 1),
            (Bits::B64, 2),
            (Bits::B16, 1),
            (Bits::B16, 2),
            (Bits::B8, 1),
            (Bits::B8, 4),
        ];
        let (bits, lanes) = *self.random.pick(&some);
        Type::vector(bits, lanes).unwrap_or(Type::B32)
    }

    /// An offset below `bytes`, a power of two, aligned for a value of this type.
    fn offset(&mut self, ty: Type, bytes: u32, same: Same) -> (Value, Align) {
        let align = Align::from_bytes(ty.bits().bytes()).unwrap_or(Align::A4);
        let room = ty.bytes().next_power_of_two().max(1);
        let any = self.operand_of(Kind::INT, same);
        let mask = self.c32((bytes - 1) & !(room - 1));
        (self.alu(AluOp::IAnd, &[any, mask]), align)
    }

    pub fn descriptor(&mut self, binding: u32) -> Value {
        let zero = self.c32(0);
        self.describe(binding, zero, false)
    }

    fn describe(&mut self, binding: u32, element: Value, non_uniform: bool) -> Value {
        let op = Op::Descriptor { resource: ResourceId(binding), part: DescriptorPart::Buffer, non_uniform };
        self.push(op, &[element], Type::DESC4)
    }

    /// Loads four dwords, equal in these lanes.
    pub fn load_wide(&mut self, same: Same) -> Value {
        let (offset, align) = self.offset(Type::DESC4, inputs::READ, same);
        let binding = if same == Same::Group { inputs::UNIFORM } else { inputs::READ_ONLY };
        let kind = if same == Same::Group { BufferKind::Uniform } else { BufferKind::Storage };
        let descriptor = self.descriptor(binding);
        let value = self.push(Op::BufferLoad { kind, align, access: READS }, &[descriptor, offset], Type::DESC4);
        self.see(value, Kind::Bits(Type::DESC4), same);
        value
    }

    /// Loads a value from read-only memory.
    pub fn load_something(&mut self) {
        let ty = self.loaded_type();
        let same = if self.random.once_in(3) { Same::Group } else { Same::Lane };
        let value = match self.random.below(8) {
            0 | 1 => {
                let (offset, align) = self.offset(ty, inputs::READ, same);
                let descriptor = self.descriptor(inputs::UNIFORM);
                let op = Op::BufferLoad { kind: BufferKind::Uniform, align, access: PLAIN };
                self.push(op, &[descriptor, offset], ty)
            }
            2 | 3 => {
                let (offset, align) = self.offset(ty, inputs::READ, same);
                let descriptor = self.descriptor(inputs::READ_ONLY);
                let access = if self.random.once_in(2) { READS } else { PLAIN };
                self.push(Op::BufferLoad { kind: BufferKind::Storage, align, access }, &[descriptor, offset], ty)
            }
            4 => {
                let (offset, align) = self.offset(ty, inputs::READ, same);
                let element = self.operand_of(Kind::INT, same);
                let three = self.c32(inputs::ELEMENTS - 1);
                let element = self.alu(AluOp::IAnd, &[element, three]);
                let descriptor = self.describe(inputs::ARRAY, element, same == Same::Lane);
                let access = Access { non_uniform: same == Same::Lane, ..READS };
                self.push(Op::BufferLoad { kind: BufferKind::Storage, align, access }, &[descriptor, offset], ty)
            }
            5 => {
                let ty = Type::B32;
                let n = self.random.below(inputs::PUSHED as usize) as u32;
                let offset = self.c32(4 * n);
                let value = self.push(Op::PushConstant { align: Align::A4 }, &[offset], ty);
                return self.see(value, Kind::INT, Same::Group);
            }
            6 => {
                let (offset, align) = self.offset(ty, 256, same);
                let table = self.table();
                self.push(Op::ConstLoad { table, align }, &[offset], ty)
            }
            _ => {
                let base = self.address(0);
                let (offset, align) = self.offset(ty, inputs::READ, same);
                let address = self.sum_of(base, offset);
                self.push(Op::GlobalLoad { align, access: READS }, &[address], ty)
            }
        };
        self.see(value, Kind::Bits(ty), same);
    }

    fn address(&mut self, n: u32) -> Value {
        let offset = self.c32(4 * inputs::PUSHED + 8 * n);
        self.push(Op::PushConstant { align: Align::A4 }, &[offset], Type::B64)
    }

    fn sum_of(&mut self, base: Value, offset: Value) -> Value {
        let offset = self.convert(AluOp::ZExt, offset, Type::B64);
        self.alu(AluOp::IAdd, &[base, offset])
    }

    /// An offset in the lane's own bytes.
    fn own(&mut self, ty: Type) -> (Value, Align) {
        let (inside, align) = self.offset(ty, inputs::OWN, Same::Lane);
        let size = self.c32(inputs::OWN);
        let start = self.alu(AluOp::IMul, &[self.lane, size]);
        (self.alu(AluOp::IAdd, &[start, inside]), align)
    }

    /// Stores a dword of the output.
    pub fn store_out(&mut self, dword: u32, word: Value) {
        let size = self.c32(inputs::OWN);
        let start = self.alu(AluOp::IMul, &[self.lane, size]);
        let at = self.c32(4 * dword);
        let offset = self.alu(AluOp::IAdd, &[start, at]);
        let descriptor = self.descriptor(inputs::OUT);
        self.effect(Op::BufferStore { align: Align::A4, access: PLAIN }, &[descriptor, offset, word]);
    }

    /// Operation, operands and type of an atomic on the lane's own memory.
    fn atomic(&mut self) -> (AtomicOp, Vec<Value>, Type) {
        let ty = if self.random.once_in(3) { Type::B64 } else { Type::B32 };
        let op = match self.random.below(4) {
            0 => AtomicOp::Exchange,
            1 => AtomicOp::CompareExchange,
            _ => *self.random.pick(&COMMUTATIVE),
        };
        let count = 1 + usize::from(op == AtomicOp::CompareExchange);
        (op, (0..count).map(|_| self.operand(Kind::Bits(ty))).collect(), ty)
    }

    /// A buffer with per-lane bytes; the choice of the buffer may differ between lanes.
    fn own_descriptor(&mut self) -> Value {
        match self.random.below(8) {
            0 => {
                let [private, out] = [inputs::PRIVATE, inputs::OUT].map(|binding| self.descriptor(binding));
                let which = self.operand(Kind::TRUTH);
                self.alu(AluOp::Select, &[which, private, out])
            }
            1 | 2 => self.any_own_descriptor(),
            _ => self.descriptor(inputs::PRIVATE),
        }
    }

    /// One of an array, or one that was chosen before.
    fn any_own_descriptor(&mut self) -> Value {
        if self.random.once_in(3) {
            return self.operand(Kind::Own);
        }
        let same = if self.random.once_in(3) { Same::Group } else { Same::Lane };
        let element = self.operand_of(Kind::INT, same);
        let three = self.c32(inputs::ELEMENTS - 1);
        let element = self.alu(AluOp::IAnd, &[element, three]);
        let descriptor = self.describe(inputs::OWN_ARRAY, element, same == Same::Lane);
        self.see(descriptor, Kind::Own, same);
        descriptor
    }

    fn own_buffer(&mut self) {
        let descriptor = self.own_descriptor();
        let ty = self.loaded_type();
        match self.random.below(5) {
            0 | 1 => {
                let (offset, align) = self.own(ty);
                let value = self.operand(Kind::Bits(ty));
                self.effect(Op::BufferStore { align, access: PLAIN }, &[descriptor, offset, value]);
            }
            2 | 3 => {
                let (offset, align) = self.own(ty);
                let op = Op::BufferLoad { kind: BufferKind::Storage, align, access: PLAIN };
                let value = self.push(op, &[descriptor, offset], ty);
                self.see(value, Kind::Bits(ty), Same::Lane);
            }
            _ => {
                let (op, data, ty) = self.atomic();
                let (offset, _) = self.own(ty);
                let args = [vec![descriptor, offset], data].concat();
                let value = self.push(Op::BufferAtomic { op, access: PLAIN }, &args, ty);
                let value = self.of_live(value);
                self.see(value, Kind::Bits(ty), Same::Lane);
            }
        }
    }

    fn by_address(&mut self) {
        let base = self.address(1);
        let ty = self.loaded_type();
        let which = self.random.below(4);
        let (op, data, wide) = self.atomic();
        let ty = if which == 3 { wide } else { ty };
        let (offset, align) = self.own(ty);
        let address = self.sum_of(base, offset);
        match which {
            0 | 1 => {
                let value = self.operand(Kind::Bits(ty));
                self.effect(Op::GlobalStore { align, access: PLAIN }, &[address, value]);
            }
            2 => {
                let value = self.push(Op::GlobalLoad { align, access: PLAIN }, &[address], ty);
                self.see(value, Kind::Bits(ty), Same::Lane);
            }
            _ => {
                let args = [vec![address], data].concat();
                let value = self.push(Op::GlobalAtomic { op, access: PLAIN }, &args, ty);
                let value = self.of_live(value);
                self.see(value, Kind::Bits(ty), Same::Lane);
            }
        }
    }

    fn private(&mut self) {
        if self.arrays.is_empty() {
            return self.load_something();
        }
        let array = *self.random.pick(&self.arrays);
        let ty = self.loaded_type();
        // The largest power of two that fits.
        let room = 1 << (4 * array.dwords).ilog2();
        let same = if self.random.once_in(3) { Same::Group } else { Same::Lane };
        let (inside, align) = self.offset(ty, room, same);
        let base = self.c32(array.base);
        let offset = self.alu(AluOp::IAdd, &[inside, base]);
        if self.random.once_in(2) {
            let value = self.operand(Kind::Bits(ty));
            self.effect(Op::LocalStore { local: array.local, align }, &[offset, value]);
        } else {
            let value = self.push(Op::LocalLoad { local: array.local, align }, &[offset], ty);
            self.see(value, Kind::Bits(ty), Same::Lane);
        }
    }

    // ---- workgroup memory

    /// Initialises all of the workgroup memory.
    pub fn shared_memory(&mut self, index: Value) {
        if !self.random.once_in(2) {
            return;
        }
        self.shader.shared_bytes = 20 * self.group_lanes + 4 * SUMS;
        let start = self.exchanged(index);
        self.effect(Op::SharedStore { align: Align::A4, access: PLAIN }, &[start, index]);
        for n in 0..4 {
            let at = self.own_shared_dword(index, n);
            self.effect(Op::SharedStore { align: Align::A4, access: PLAIN }, &[at, index]);
        }
        // The first eight lanes; a workgroup has more.
        let seven = self.c32(SUMS - 1);
        let n = self.alu(AluOp::IAnd, &[index, seven]);
        let at = self.sum_place(n);
        self.effect(Op::SharedStore { align: Align::A4, access: PLAIN }, &[at, n]);
        self.barrier();
    }

    fn exchanged(&mut self, index: Value) -> Value {
        let four = self.c32(4);
        self.alu(AluOp::IMul, &[index, four])
    }

    fn own_shared_dword(&mut self, index: Value, n: u32) -> Value {
        let sixteen = self.c32(16);
        let own = self.alu(AluOp::IMul, &[index, sixteen]);
        let start = self.c32(4 * self.group_lanes + 4 * n);
        self.alu(AluOp::IAdd, &[own, start])
    }

    fn sum_place(&mut self, n: Value) -> Value {
        let offset = self.exchanged(n);
        let start = self.c32(20 * self.group_lanes);
        self.alu(AluOp::IAdd, &[offset, start])
    }

    pub fn barrier(&mut self) {
        let classes = MemoryClasses { shared: true, ..MemoryClasses::default() };
        let (exec, memory) = (Scope::Workgroup, Scope::Workgroup);
        self.effect(Op::Barrier { exec, memory, order: FenceOrder::AcqRel, classes }, &[]);
    }

    fn index(&mut self) -> Value {
        self.scope[0].value
    }

    fn own_shared(&mut self) {
        if self.shader.shared_bytes == 0 {
            return self.private();
        }
        let index = self.index();
        let n = self.random.below(4) as u32;
        let at = self.own_shared_dword(index, n);
        match self.random.below(3) {
            0 => {
                let value = self.operand(Kind::INT);
                self.effect(Op::SharedStore { align: Align::A4, access: PLAIN }, &[at, value]);
            }
            1 => {
                let value = self.push(Op::SharedLoad { align: Align::A4, access: PLAIN }, &[at], Type::B32);
                self.see(value, Kind::INT, Same::Lane);
            }
            _ => {
                let (op, data, ty) = self.atomic();
                if ty == Type::B32 {
                    let args = [vec![at], data].concat();
                    let value = self.push(Op::SharedAtomic(op), &args, ty);
                    self.see(value, Kind::INT, Same::Lane);
                }
            }
        }
    }

    /// Adds to a shared sum, which is not read before the end. Each sum uses one operation, so that the order has no
    /// effect.
    fn sum(&mut self) {
        let value = self.operand(Kind::INT);
        let n = self.random.below(SUMS as usize);
        let op = COMMUTATIVE[n];
        let op = if op == AtomicOp::ISub { AtomicOp::IAdd } else { op };
        if self.shader.shared_bytes == 0 || self.random.once_in(2) {
            let descriptor = self.descriptor(inputs::ATOMICS);
            let offset = self.c32(4 * n as u32);
            self.effect(Op::BufferAtomic { op, access: PLAIN }, &[descriptor, offset, value]);
        } else {
            let place = self.c32(n as u32);
            let at = self.sum_place(place);
            self.effect(Op::SharedAtomic(op), &[at, value]);
        }
    }

    /// Stores a dword in workgroup memory and loads another lane's.
    fn exchange(&mut self) {
        if self.shader.shared_bytes == 0 || self.same < Same::Group {
            return self.sum();
        }
        let index = self.index();
        let value = self.operand(Kind::INT);
        let own = self.exchanged(index);
        self.barrier();
        self.effect(Op::SharedStore { align: Align::A4, access: PLAIN }, &[own, value]);
        self.barrier();
        let other = self.operand(Kind::INT);
        let count = self.c32(self.group_lanes);
        let other = self.alu(AluOp::UMod, &[other, count]);
        let at = self.exchanged(other);
        let value = self.push(Op::SharedLoad { align: Align::A4, access: PLAIN }, &[at], Type::B32);
        self.see(value, Kind::INT, Same::Lane);
        self.barrier();
    }

    /// Stores the shared sums at the end.
    pub fn shared_results(&mut self) {
        if self.shader.shared_bytes == 0 || self.same < Same::Group {
            return;
        }
        self.barrier();
        for n in 0..SUMS {
            let place = self.c32(n);
            let at = self.sum_place(place);
            let value = self.push(Op::SharedLoad { align: Align::A4, access: PLAIN }, &[at], Type::B32);
            self.mix(value, Kind::INT);
        }
    }
}
