//! Memory behind buffer descriptors: raw, by texel, and by vertex format.
//!
//! Intrinsics take no alignment and are never split: `legalize_memory` has split every access to the width of one
//! instruction. LLVM disables helper lanes for every write through a descriptor, as `Access::live_only` requires for all of
//! them.

use super::values::{Cx, Llvm};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, Bits, BufferKind, Type, Value};

/// Cache policy bits of an instruction.
const GLC: u32 = 1;
const SLC: u32 = 2;
const DLC: u32 = 4;

/// Cache policy of a load: device coherence bypasses both cache levels private to a workgroup or a shader array.
pub(super) fn load_policy(access: Access) -> u32 {
    let coherent = if access.coherent || access.volatile { GLC | DLC } else { 0 };
    coherent | if access.nontemporal { SLC } else { 0 }
}

/// Cache policy of a store or an atomic, which reach the device in any case.
pub(super) fn store_policy(access: Access) -> u32 {
    if access.nontemporal { SLC } else { 0 }
}

impl<'c> Cx<'_, 'c> {
    /// One access of a width that an instruction moves; the rules of the lower level guarantee that.
    pub fn buffer_load(&self, kind: BufferKind, access: Access, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let data = self.int_type(ty)?;
        let (descriptor, offset) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(load_policy(access)).into());
        // Only the scalar form tells LLVM that nothing writes this memory, so that it may move the load; for a
        // divergent offset it selects vector instructions.
        if access.may_be_scalar(kind) && ty.bits() == Bits::B32 {
            return self.call("llvm.amdgcn.s.buffer.load", &[data], &[descriptor, offset, policy]);
        }
        // The atomic form is never merged with other accesses.
        let ordered = access.coherent || access.volatile;
        let name = if ordered { "llvm.amdgcn.raw.atomic.buffer.load" } else { "llvm.amdgcn.raw.buffer.load" };
        self.call(name, &[data], &[descriptor, offset, zero, policy])
    }

    pub fn buffer_store(&self, access: Access, args: &[Value]) -> Result<()> {
        let data = self.int(Self::arg(args, 2)?)?;
        let (descriptor, offset) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(store_policy(access)).into());
        let args = [data, descriptor, offset, zero, policy];
        self.call_void("llvm.amdgcn.raw.buffer.store", &[data.get_type()], &args)
    }

    pub fn texel_load(&self, access: Access, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let data = self.f32_vector(channels(ty)?);
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(load_policy(access)).into());
        self.call("llvm.amdgcn.struct.buffer.load.format", &[data], &[descriptor, index, zero, zero, policy])
    }

    pub fn texel_store(&self, access: Access, args: &[Value]) -> Result<()> {
        let value = Self::arg(args, 2)?;
        let data = self.cast(self.value(value)?, self.f32_vector(channels(self.shader.ty(value))?))?;
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, policy) = (self.c32(0).into(), self.c32(store_policy(access)).into());
        let args = [data, descriptor, index, zero, zero, policy];
        self.call_void("llvm.amdgcn.struct.buffer.store.format", &[data.get_type()], &args)
    }

    pub fn typed_load(&self, format: u8, offset: u32, args: &[Value], ty: Type) -> Result<Llvm<'c>> {
        let data = self.f32_vector(channels(ty)?);
        let (descriptor, index) = (self.int(Self::arg(args, 0)?)?, self.int(Self::arg(args, 1)?)?);
        let (zero, offset) = (self.c32(0).into(), self.c32(offset).into());
        let format = self.c32(u32::from(format)).into();
        let args = [descriptor, index, offset, zero, format, zero];
        self.call("llvm.amdgcn.struct.tbuffer.load", &[data], &args)
    }
}

/// Number of channels of a converted texel.
fn channels(ty: Type) -> Result<u32> {
    if ty.bits() == Bits::B32 && ty.lanes() <= 4 {
        Ok(ty.lanes())
    } else {
        Err(Error::bug(format!("a texel of type {ty}")))
    }
}
