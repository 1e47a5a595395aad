//! Fetches vertices in the body itself, for a known vertex state: the prolog's work, by the same plan.

use super::address;
use super::context::PassContext;
use super::entry_values::{Entry, System, vertex_inputs};
use super::prelude::Prelude;
use dovetail_abi::fetch::{FetchLoad, FetchPlan, FetchedDword, VertexIndex};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Align, AluOp, AmdOp, Bits, FpFlags, Op, Shader, Type, Value};
use dovetail_metadata::interface::UserData;
use dovetail_state::VertexInputState;
use smallvec::SmallVec;

/// Size of a vertex buffer's descriptor in the table, in bytes.
const DESCRIPTOR_BYTES: u32 = 16;

/// Fetches every input at the top of the shader and fills in [`Entry::fetched`].
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>, state: &VertexInputState) -> Result<()> {
    let inputs = vertex_inputs(shader)?;
    let plan = FetchPlan::new(cx.request.target, &inputs, state)?;
    let mut prelude = Prelude::default();
    let mut at = Fetch { shader, p: &mut prelude, entry: &cx.entry };
    let loads: Vec<Value> = plan.loads.iter().map(|l| at.load(l)).collect::<Result<_>>()?;
    let mut dwords = plan.dwords.iter().map(|d| at.dword(&plan, &loads, *d));

    let mut fetched = std::collections::BTreeMap::new();
    for input in &inputs {
        for component in input.component..input.component + input.count {
            let own: SmallVec<[Value; 2]> = dwords.by_ref().take(input.ty.dwords() as usize).collect::<Result<_>>()?;
            fetched.insert((input.location, component, input.ty), own);
        }
    }
    drop(dwords);
    cx.entry.fetched = fetched;
    prelude.place(shader);
    let by_instance = |l: &FetchLoad| !matches!(l.index, VertexIndex::Vertex | VertexIndex::Instance { divisor: 0 });
    if let Some(v) = cx.interface.kind.vertex_mut()
        && plan.loads.iter().any(by_instance)
    {
        v.vgpr_comp_cnt = 3;
    }
    Ok(())
}

struct Fetch<'a> {
    shader: &'a mut Shader,
    p: &'a mut Prelude,
    entry: &'a Entry,
}

impl Fetch<'_> {
    fn c32(&mut self, bits: u32) -> Value {
        self.p.value(self.shader, Op::Const(u64::from(bits)), &[], Type::B32)
    }

    fn alu(&mut self, op: AluOp, args: &[Value], ty: Type) -> Value {
        self.p.value(self.shader, Op::Alu(op, FpFlags::NONE), args, ty)
    }

    fn load(&mut self, load: &FetchLoad) -> Result<Value> {
        let offset = load.binding.checked_mul(DESCRIPTOR_BYTES);
        let offset = offset.ok_or_else(|| Error::malformed(format!("vertex binding {} is too large", load.binding)))?;
        let table = address::table(self.p, self.shader, self.entry, UserData::VertexBufferTable)?;
        let offset = self.c32(offset);
        let desc = self.p.value(
            self.shader,
            Op::Target(AmdOp::TableLoad { align: Align::A16 }),
            &[table, offset],
            Type::DESC4,
        );
        let index = self.index(load)?;
        let ty = Type::vector(Bits::B32, u32::from(load.components));
        let ty = ty.ok_or_else(|| Error::bug("a vertex load of no components"))?;
        let op = Op::Target(AmdOp::TypedLoad { format: load.format, offset: load.offset });
        Ok(self.p.value(self.shader, op, &[desc, index], ty))
    }

    fn index(&mut self, load: &FetchLoad) -> Result<Value> {
        let base_instance = self.entry.user(UserData::BaseInstance)?;
        let index = match load.index {
            VertexIndex::Vertex => {
                let (id, base) = (self.entry.system(System::VertexId)?, self.entry.user(UserData::BaseVertex)?);
                self.alu(AluOp::IAdd, &[id, base], Type::B32)
            }
            VertexIndex::Instance { divisor: 0 } => base_instance,
            VertexIndex::Instance { divisor } => {
                let mut id = self.entry.system(System::InstanceId)?;
                if divisor > 1 {
                    let divisor = self.c32(divisor);
                    id = self.alu(AluOp::UDiv, &[id, divisor], Type::B32);
                }
                self.alu(AluOp::IAdd, &[id, base_instance], Type::B32)
            }
        };
        if load.skip == 0 {
            return Ok(index);
        }
        let skip = self.c32(load.skip);
        Ok(self.alu(AluOp::IAdd, &[index, skip], Type::B32))
    }

    fn dword(&mut self, plan: &FetchPlan, loads: &[Value], what: FetchedDword) -> Result<Value> {
        let (load, component) = match what {
            FetchedDword::Constant(bits) => return Ok(self.c32(bits)),
            FetchedDword::Loaded { load, component, .. } => (load as usize, component),
        };
        let missing = || Error::bug("a fetched dword without its load");
        let (value, load) = loads.get(load).copied().zip(plan.loads.get(load)).ok_or_else(missing)?;
        let channel = if self.shader.ty(value).is_scalar() {
            value
        } else {
            self.p.value(self.shader, Op::Extract(component), &[value], Type::B32)
        };
        if !load.half {
            // Readers of smaller integers truncate.
            return Ok(channel);
        }
        Ok(self.alu(AluOp::FConv, &[channel], Type::B16))
    }
}
