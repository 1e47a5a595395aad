//! Finds the registers that an instruction still reads or writes after the next one has begun, and the counter that
//! tracks it.

use super::program::Run;
use super::waits::{Issue, OperationKind, TrackedRegisters};
use super::{buffer, global, image};
use dovetail_isa::instruction::{BufferFields, ExportFields, Fields, FlatFields, ImageFields, Instruction};
use dovetail_isa::{Op, Scalar, Traits};

/// Outstanding work of an instruction; `None` if it is complete when the next one begins.
pub fn issued(inst: &Instruction, run: &Run) -> Option<Issue> {
    let none = TrackedRegisters::default();
    let (kind, results, sources) = match (run, &inst.fields) {
        (_, Fields::Scalar(f)) if inst.entry.is(Traits::MESSAGE) => {
            let answer = f.dst.map_or(none, |dst| TrackedRegisters::scalar(dst, inst.entry.dst_kind(0).registers()));
            (OperationKind::Message, answer, none)
        }
        (_, Fields::Smem(f)) if !inst.entry.dst.is_empty() => {
            (OperationKind::Smem, TrackedRegisters::scalar(f.data, inst.entry.data_registers()), none)
        }
        (_, Fields::Ds(f)) if inst.entry.op != Op::DsNop => {
            let count = inst.entry.dst.first().map_or(0, |kind| kind.registers());
            (OperationKind::Lds, TrackedRegisters::vector([(f.dst, count)]), none)
        }
        (Run::Buffer(op), Fields::Buffer(f)) => {
            let (kind, results) = of_buffer(*op, inst, f)?;
            (kind, results, none)
        }
        (Run::Global(op), Fields::Flat(f)) => {
            let (kind, results) = of_global(*op, inst, f);
            (kind, results, none)
        }
        (Run::Image(op), Fields::Image(f)) => {
            let (kind, results) = of_image(*op, inst, f);
            (kind, results, none)
        }
        (Run::Only, Fields::LdsDirect(f)) => {
            (OperationKind::ParameterLoad, TrackedRegisters::vector([(f.dst, 1)]), none)
        }
        (_, Fields::Export(f)) => {
            let (kind, sources) = of_export(f);
            (kind, none, sources)
        }
        _ => return None,
    };
    Some(Issue { kind, results, sources })
}

/// Registers that an atomic returns: a compare and swap returns half as many as its data have.
fn returned(bits: u32) -> u8 {
    if bits == 64 { 2 } else { 1 }
}

fn of_buffer(op: buffer::Buffer, inst: &Instruction, f: &BufferFields) -> Option<(OperationKind, TrackedRegisters)> {
    use buffer::Buffer;
    let results = |count: u8| (OperationKind::Load, TrackedRegisters::vector([(f.data, count + u8::from(f.tfe))]));
    Some(match op {
        Buffer::Nothing => return None,
        Buffer::Load(_) | Buffer::LoadFormat(_) => results(inst.entry.data_registers()),
        Buffer::Atomic(atomic) if f.cache.returns() => results(returned(atomic.bits)),
        Buffer::Store(_) | Buffer::StoreFormat(_) | Buffer::Atomic(_) => {
            (OperationKind::Store, TrackedRegisters::default())
        }
    })
}

fn of_global(op: global::Global, inst: &Instruction, f: &FlatFields) -> (OperationKind, TrackedRegisters) {
    use global::Global;
    let flat = inst.entry.format == dovetail_isa::Format::Flat;
    let count = match op {
        Global::Load(_) => inst.entry.data_registers(),
        Global::Atomic(atomic) if f.cache.returns() => returned(atomic.bits),
        Global::Store(_) | Global::Atomic(_) => 0,
    };
    let kind = match (flat, count) {
        (false, 0) => OperationKind::Store,
        (false, _) => OperationKind::Load,
        (true, 0) => OperationKind::FlatStore,
        (true, _) => OperationKind::Flat,
    };
    (kind, TrackedRegisters::vector([(f.dst, count)]))
}

fn of_image(op: image::ImageOperation, inst: &Instruction, f: &ImageFields) -> (OperationKind, TrackedRegisters) {
    use image::ImageOperation;
    let all = f.data_registers(inst.entry) + f.status_registers();
    let (kind, count) = match op {
        ImageOperation::Load { .. } if inst.entry.format == dovetail_isa::Format::Vsample => {
            (OperationKind::Sample, all)
        }
        ImageOperation::Sample(_) => (OperationKind::Sample, all),
        ImageOperation::Atomic { compares, .. } if f.cache.returns() => {
            (OperationKind::Load, if compares { all / 2 } else { all })
        }
        ImageOperation::Store { .. } | ImageOperation::Atomic { .. } => (OperationKind::Store, 0),
        ImageOperation::Load { .. } | ImageOperation::Info | ImageOperation::Samples => (OperationKind::Load, all),
    };
    (kind, TrackedRegisters::vector([(f.data, count)]))
}

fn of_export(f: &ExportFields) -> (OperationKind, TrackedRegisters) {
    let kind = match f.target {
        12..=16 => OperationKind::Position,
        32.. => OperationKind::Parameter,
        _ => OperationKind::Color,
    };
    let sent = |i: usize| {
        if f.compr { i < 2 && f.enabled >> (2 * i) & 3 != 0 } else { f.enabled >> i & 1 == 1 }
    };
    let mut sources = TrackedRegisters::vector((0..4).filter(|i| sent(*i)).map(|i| (f.data[i], 1)));
    sources.add(&TrackedRegisters::scalar(Scalar::ExecLo, 2));
    (kind, sources)
}
