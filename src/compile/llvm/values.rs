//! LLVM values of IR values: the translation context, and access to operands in the kind that a use needs.
//!
//! IR values are bits; LLVM's are integers or floats. A value keeps the kind in which its operation made it, and is
//! cast where it is used, so there is no cast between two float operations. Booleans are `i1`, vectors are LLVM
//! vectors.

use super::ffi;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::{Bits, LowerInfo, Shader, Type, Value};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicTypeEnum, FloatType, IntType, VectorType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FloatValue, FunctionValue, IntValue, PointerValue, ValueKind,
    VectorValue,
};
use smallvec::SmallVec;

/// An LLVM value.
pub(super) type Llvm<'c> = BasicValueEnum<'c>;

/// Translation of one shader.
pub(super) struct Cx<'a, 'c> {
    pub shader: &'a Shader,
    pub info: &'a LowerInfo,
    pub ctx: &'c Context,
    pub module: &'a Module<'c>,
    pub b: &'a Builder<'c>,
    pub function: FunctionValue<'c>,
    /// By value id; filled at each definition.
    pub values: Vec<Option<Llvm<'c>>>,
    /// Scratch variables, by local id.
    pub locals: Vec<PointerValue<'c>>,
    /// Constant tables, by table id.
    pub tables: Vec<PointerValue<'c>>,
    /// Workgroup memory, if there is any.
    pub shared: Option<PointerValue<'c>>,
    /// High half of the program counter, if it is used.
    pub address_high: Option<IntValue<'c>>,
}

impl<'c> Cx<'_, 'c> {
    pub fn wave(&self) -> WaveSize {
        self.info.wave
    }

    // ---- types

    pub fn i32_type(&self) -> IntType<'c> {
        self.ctx.i32_type()
    }

    pub fn f32_type(&self) -> FloatType<'c> {
        self.ctx.f32_type()
    }

    pub fn int_bits(&self, bits: u32) -> Result<IntType<'c>> {
        ffi::int_type(self.ctx, bits)
    }

    /// The integer type, or vector of integers, of this shape.
    pub fn int_type(&self, ty: Type) -> Result<BasicTypeEnum<'c>> {
        let scalar = self.int_bits(ty.bits().count())?;
        Ok(if ty.is_scalar() { scalar.into() } else { scalar.vec_type(ty.lanes()).into() })
    }

    /// The float type of this width.
    pub fn float_bits(&self, bits: Bits) -> Result<FloatType<'c>> {
        Ok(match bits {
            Bits::B16 => self.ctx.f16_type(),
            Bits::B32 => self.ctx.f32_type(),
            Bits::B64 => self.ctx.f64_type(),
            Bits::B1 | Bits::B8 => return Err(Error::bug(format!("a float of {} bits", bits.count()))),
        })
    }

    /// The float type, or vector of floats, of this shape.
    pub fn float_type(&self, ty: Type) -> Result<BasicTypeEnum<'c>> {
        let scalar = self.float_bits(ty.bits())?;
        Ok(if ty.is_scalar() { scalar.into() } else { scalar.vec_type(ty.lanes()).into() })
    }

    /// Type of `n` dwords as floats: a scalar for one.
    pub fn f32_vector(&self, n: u32) -> BasicTypeEnum<'c> {
        if n == 1 { self.f32_type().into() } else { self.f32_type().vec_type(n).into() }
    }

    /// Type of `n` dwords as integers: a scalar for one.
    pub fn i32_vector(&self, n: u32) -> BasicTypeEnum<'c> {
        if n == 1 { self.i32_type().into() } else { self.i32_type().vec_type(n).into() }
    }

    // ---- operands

    /// The value in the kind in which it is held.
    pub fn value(&self, v: Value) -> Result<Llvm<'c>> {
        self.values
            .get(v.index())
            .copied()
            .flatten()
            .ok_or_else(|| Error::bug(format!("{v} is used where its definition does not reach")))
    }

    /// The value as integer or vector of integers.
    pub fn int(&self, v: Value) -> Result<Llvm<'c>> {
        self.cast(self.value(v)?, self.int_type(self.shader.ty(v))?)
    }

    /// The value as float or vector of floats.
    pub fn float(&self, v: Value) -> Result<Llvm<'c>> {
        self.cast(self.value(v)?, self.float_type(self.shader.ty(v))?)
    }

    /// The value as a scalar integer.
    pub fn i(&self, v: Value) -> Result<IntValue<'c>> {
        as_int(self.int(v)?)
    }

    /// The value as a scalar float.
    pub fn f(&self, v: Value) -> Result<FloatValue<'c>> {
        as_float(self.float(v)?)
    }

    /// Whether the value is held as a float.
    pub fn is_float(&self, v: Value) -> Result<bool> {
        Ok(is_float(self.value(v)?.get_type()))
    }

    /// Operand `n` of a list.
    pub fn arg(args: &[Value], n: usize) -> Result<Value> {
        args.get(n).copied().ok_or_else(|| Error::bug(format!("operand {n} is missing")))
    }

    /// The same bits as another type; no cast if the type is the same.
    pub fn cast(&self, v: Llvm<'c>, ty: BasicTypeEnum<'c>) -> Result<Llvm<'c>> {
        if v.get_type() == ty { Ok(v) } else { self.b.build_bit_cast(v, ty, "").built() }
    }

    /// A scalar widened to at least 32 bits, for register intrinsics.
    pub fn widen(&self, v: IntValue<'c>) -> Result<IntValue<'c>> {
        if v.get_type().get_bit_width() < 32 {
            self.b.build_int_z_extend(v, self.i32_type(), "").built()
        } else {
            Ok(v)
        }
    }

    /// The low bits of a value from [`Cx::widen`].
    pub fn narrow(&self, v: IntValue<'c>, bits: u32) -> Result<IntValue<'c>> {
        if v.get_type().get_bit_width() > bits {
            self.b.build_int_truncate(v, self.int_bits(bits)?, "").built()
        } else {
            Ok(v)
        }
    }

    // ---- constants

    pub fn c32(&self, n: u32) -> IntValue<'c> {
        self.i32_type().const_int(u64::from(n), false)
    }

    pub fn cbool(&self, b: bool) -> IntValue<'c> {
        self.ctx.bool_type().const_int(u64::from(b), false)
    }

    // ---- vectors

    /// Lanes of an LLVM vector (of a scalar: the scalar).
    pub fn lanes(&self, v: Llvm<'c>) -> Result<SmallVec<[Llvm<'c>; 8]>> {
        match v {
            Llvm::VectorValue(vec) => (0..vec.get_type().get_size()).map(|i| self.lane(vec, i)).collect(),
            scalar => Ok(SmallVec::from_slice(&[scalar])),
        }
    }

    /// One lane.
    pub fn lane(&self, v: VectorValue<'c>, i: u32) -> Result<Llvm<'c>> {
        self.b.build_extract_element(v, self.c32(i), "").built()
    }

    /// A vector of scalars of one type (a single scalar is returned as it is).
    pub fn gather(&self, parts: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let first = *parts.first().ok_or_else(|| Error::bug("a vector of nothing"))?;
        if parts.len() == 1 {
            return Ok(first);
        }
        let ty = vector_of(first.get_type(), parts.len() as u32)?;
        let mut vec = ty.get_poison();
        for (i, part) in parts.iter().enumerate() {
            vec = self.b.build_insert_element(vec, *part, self.c32(i as u32), "").built()?;
        }
        Ok(vec.into())
    }

    // ---- calls

    fn build_call(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<ValueKind<'c>> {
        let function = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.module, overloads))
            .ok_or_else(|| Error::bug(format!("LLVM has no intrinsic {name} of this form")))?;
        Ok(self.b.build_call(function, args, "").built()?.try_as_basic_value())
    }

    /// Calls an intrinsic with a result.
    pub fn call(&self, name: &str, overloads: &[BasicTypeEnum<'c>], args: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let args: SmallVec<[BasicMetadataValueEnum<'c>; 12]> = args.iter().map(|&a| a.into()).collect();
        self.call_mixed(name, overloads, &args)
    }

    /// Calls an intrinsic with a result that takes metadata.
    pub fn call_mixed(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<Llvm<'c>> {
        match self.build_call(name, overloads, args)? {
            ValueKind::Basic(v) => Ok(v),
            ValueKind::Instruction(_) => Err(Error::bug(format!("{name} has no result"))),
        }
    }

    /// Calls an intrinsic without a result.
    pub fn call_void(&self, name: &str, overloads: &[BasicTypeEnum<'c>], args: &[Llvm<'c>]) -> Result<()> {
        let args: SmallVec<[BasicMetadataValueEnum<'c>; 12]> = args.iter().map(|&a| a.into()).collect();
        self.build_call(name, overloads, &args).map(|_| ())
    }

    /// Calls a unary intrinsic overloaded on its operand, e.g. `llvm.fabs`.
    pub fn call_same(&self, name: &str, args: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let first = args.first().ok_or_else(|| Error::bug(format!("{name} without operands")))?;
        self.call(name, &[first.get_type()], args)
    }

    /// Some value, the same at every use: keeps poison from spreading.
    pub fn freeze(&self, v: Llvm<'c>) -> Result<Llvm<'c>> {
        ffi::freeze(self.b, v)
    }
}

/// A vector type of `n` scalars.
pub(super) fn vector_of(scalar: BasicTypeEnum<'_>, n: u32) -> Result<VectorType<'_>> {
    match scalar {
        BasicTypeEnum::IntType(t) => Ok(t.vec_type(n)),
        BasicTypeEnum::FloatType(t) => Ok(t.vec_type(n)),
        other => Err(Error::bug(format!("a vector of {other}"))),
    }
}

/// Whether a type is a float or a vector of floats.
pub(super) fn is_float(ty: BasicTypeEnum<'_>) -> bool {
    match ty {
        BasicTypeEnum::FloatType(_) => true,
        BasicTypeEnum::VectorType(v) => v.get_element_type().is_float_type(),
        _ => false,
    }
}

/// The value as a scalar integer; a bug if it is not.
pub(super) fn as_int(v: Llvm<'_>) -> Result<IntValue<'_>> {
    match v {
        Llvm::IntValue(i) => Ok(i),
        other => Err(Error::bug(format!("an integer is wanted, not a {}", other.get_type()))),
    }
}

/// The value as a scalar float; a bug if it is not.
pub(super) fn as_float(v: Llvm<'_>) -> Result<FloatValue<'_>> {
    match v {
        Llvm::FloatValue(f) => Ok(f),
        other => Err(Error::bug(format!("a float is wanted, not a {}", other.get_type()))),
    }
}

/// The value as a vector; a bug if it is not.
pub(super) fn as_vector(v: Llvm<'_>) -> Result<VectorValue<'_>> {
    match v {
        Llvm::VectorValue(v) => Ok(v),
        other => Err(Error::bug(format!("a vector is wanted, not a {}", other.get_type()))),
    }
}

/// The poison value of a type.
pub(super) fn poison<'c>(ty: BasicTypeEnum<'c>) -> Llvm<'c> {
    match ty {
        BasicTypeEnum::ArrayType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::FloatType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::IntType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::PointerType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::StructType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::VectorType(t) => t.get_poison().as_basic_value_enum(),
        BasicTypeEnum::ScalableVectorType(t) => t.get_poison().as_basic_value_enum(),
    }
}

/// What LLVM's builder returns.
pub(super) trait Built<T> {
    /// The value; an error is our bug.
    fn built(self) -> Result<T>;
}

impl<T> Built<T> for std::result::Result<T, inkwell::builder::BuilderError> {
    fn built(self) -> Result<T> {
        self.map_err(|e| Error::bug(format!("LLVM builder: {e}")))
    }
}
