//! A pointer's memory, as IR operations need it: a descriptor, an offset or an address.

use super::cx::{Cx, Index, Pointer, Storage};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, BufferKind, DescriptorPart, LocalId, Op, ResourceId, Type, Value};

/// A pointer's memory in the form that IR operations need.
#[derive(Clone, Copy, Debug)]
pub enum PointerMemory {
    /// Local variable and byte offset.
    Local(LocalId, Value),
    /// Workgroup memory at a byte offset.
    Shared(Value),
    /// A buffer.
    Buffer {
        /// Its descriptor.
        descriptor: Value,
        /// Byte offset.
        offset: Value,
        /// Uniform or storage.
        kind: BufferKind,
    },
    /// Physical memory at a 64-bit address.
    Global(Value),
}

impl Cx<'_> {
    /// The descriptor of a binding's element.
    pub fn descriptor(&mut self, resource: ResourceId, index: Index, part: DescriptorPart, non_uniform: bool) -> Value {
        let block = self.b.block();
        if self.descriptor_block != block {
            self.descriptors.clear();
            self.descriptor_block = block;
        }
        if let Index::Const(n) = index
            && let Some(v) = self.descriptors.get(&(resource, n, part))
        {
            return *v;
        }
        let ty = if part == DescriptorPart::Image { Type::DESC8 } else { Type::DESC4 };
        let at = self.binding_index(index);
        let v = self.b.value(Op::Descriptor { resource, part, non_uniform }, &[at], ty);
        if let Index::Const(n) = index {
            self.descriptors.insert((resource, n, part), v);
        }
        v
    }

    /// An index into an array of bindings as a value.
    pub fn binding_index(&mut self, index: Index) -> Value {
        match index {
            Index::Const(n) => self.b.c32(n),
            Index::Dynamic(v) => v,
        }
    }

    /// The byte offset of a pointer plus `extra` bytes, b32.
    pub fn byte_offset(&mut self, p: &Pointer, extra: u32) -> Value {
        let constant = self.b.c32(p.constant.wrapping_add(extra));
        match p.dynamic {
            Some(d) => self.b.iadd(d, constant),
            None => constant,
        }
    }

    /// The 64-bit address of a pointer plus `extra` bytes; only for [`Storage::Global`].
    pub fn address(&mut self, p: &Pointer, extra: u32) -> Value {
        let Storage::Global(base) = p.place else { return self.b.undef(Type::B64) };
        let base = match p.dynamic {
            Some(d) => self.b.alu(AluOp::IAdd, &[base, d]),
            None => base,
        };
        match p.constant.wrapping_add(extra) {
            0 => base,
            n => {
                // Offsets may be negative only through `OpPtrAccessChain`: sign-extended.
                let n = self.b.iconst(Type::B64, i64::from(n as i32) as u64);
                self.b.iadd(base, n)
            }
        }
    }

    /// The memory of a pointer plus `extra` bytes, in the form that IR operations need.
    ///
    /// # Errors
    /// Malformed: not in addressable memory.
    pub fn memory(&mut self, p: &Pointer, extra: u32) -> Result<PointerMemory> {
        Ok(match p.place {
            Storage::Local(local) => PointerMemory::Local(local, self.byte_offset(p, extra)),
            Storage::Shared => PointerMemory::Shared(self.byte_offset(p, extra)),
            Storage::Buffer { resource, index, kind } => {
                let descriptor = self.descriptor(resource, index, DescriptorPart::Buffer, p.access.non_uniform);
                PointerMemory::Buffer { descriptor, offset: self.byte_offset(p, extra), kind }
            }
            Storage::Chosen { code, class } => {
                let descriptor = self.chosen_descriptor(code, class);
                PointerMemory::Buffer { descriptor, offset: self.byte_offset(p, extra), kind: BufferKind::Storage }
            }
            Storage::Global(_) => PointerMemory::Global(self.address(p, extra)),
            _ => return Err(Error::malformed("not memory that can be addressed")),
        })
    }
}
