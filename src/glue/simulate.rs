//! Simulates one lane of a fetch prolog and compares its final registers with values read directly from the buffers,
//! for every vertex format, input type, component, rate and stride.
//!
//! It is as strict as the hardware: a typed load must be aligned to its size, up to four bytes; a register with an
//! outstanding load must not be read before the wait; a structured load is limited by the record and stride bounds.
//! Conversion to float is the load's task, not the prolog's: [`convert`] only marks it.

use super::tests::{component_type, instructions};
use super::*;
use dovetail_abi::fetch::{kept_sgprs, table_address_sgpr};
use dovetail_abi::formats::{Format, Number, buffer_number};
use dovetail_base::target::Gpu;
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{BufferFields, Fields, VectorDst};
use dovetail_isa::{Counter, Instruction, Isa, Op, OpcodeRow, Scalar, Src, Vgpr, WaitCounts};
use dovetail_metadata::interface::{ComponentType, UserData, VertexInput};
use dovetail_state::{VertexAttribute, VertexBinding, VertexInputState, VertexRate};
use std::collections::BTreeMap;

const HIGH: u64 = 0x7fff_0000_0000;
const TABLE: u32 = 0x1000;
const VERTEX_ID: u32 = 5;
const INSTANCE_ID: u32 = 23;
const BASE_VERTEX: u32 = 2;
const BASE_INSTANCE: u32 = 3;
/// Address of a buffer.
const BUFFER: u64 = 0x1_0000;
const BUFFER_BYTES: usize = 4096;

/// A number in a register, marked by value, width and number format if the hardware would convert it.
fn convert(raw: u32, width: u8, number: Number) -> u32 {
    match number {
        Number::Uint => raw,
        Number::Sint => ((raw << (32 - width)).cast_signed() >> (32 - width)).cast_unsigned(),
        Number::Float if width == 32 => raw,
        _ => raw.wrapping_mul(0x9e37_79b1) ^ (u32::from(width) << 8 | number as u32),
    }
}

/// Marks a value as narrowed to 16 bits.
fn narrow(value: u32) -> u32 {
    (value ^ value >> 16) & 0xffff
}

fn byte(at: usize) -> u8 {
    (at as u32).wrapping_mul(0x45d9_f3b5).to_le_bytes()[3]
}

fn raw(at: usize, bit: u32, width: u32) -> u32 {
    let first = at + bit as usize / 8;
    let bits = (0..8).fold(0u128, |all, i| all | u128::from(byte(first + i)) << (8 * i)) >> (bit % 8);
    (bits & ((1u128 << width) - 1)) as u32
}

/// Channel widths and number format of each buffer format number.
fn buffer_formats() -> BTreeMap<u8, (Vec<u8>, Number)> {
    let layouts: [&[u8]; 14] = [
        &[8],
        &[16],
        &[8, 8],
        &[32],
        &[16, 16],
        &[11, 11, 10],
        &[10, 11, 11],
        &[2, 10, 10, 10],
        &[10, 10, 10, 2],
        &[8; 4],
        &[32; 2],
        &[16; 4],
        &[32; 3],
        &[32; 4],
    ];
    let numbers =
        [Number::Unorm, Number::Snorm, Number::Uscaled, Number::Sscaled, Number::Uint, Number::Sint, Number::Float];
    let pairs = layouts.iter().flat_map(|l| numbers.iter().map(move |n| (l.to_vec(), *n)));
    pairs.filter_map(|(l, n)| Some((buffer_number(Gpu::Gfx1030, &l, n)?, (l, n)))).collect()
}

struct Lane {
    sgprs: BTreeMap<u32, u32>,
    vgprs: BTreeMap<u32, u32>,
    /// Registers with outstanding loads.
    vector_pending: BTreeMap<u32, u32>,
    scalar_pending: BTreeMap<u32, u32>,
    /// Stride of each binding.
    strides: Vec<u32>,
    component_align: u64,
    formats: BTreeMap<u8, (Vec<u8>, Number)>,
}

impl Lane {
    fn base(&self) -> u64 {
        BUFFER + self.component_align
    }

    fn source(&self, src: Src) -> u32 {
        match src {
            Src::Int(i) => i32::from(i).cast_unsigned(),
            Src::Float(f) => f.bits(),
            Src::Literal(bits) => bits,
            Src::Vgpr(v) => {
                let register = u32::from(v.number());
                assert!(!self.vector_pending.contains_key(&register), "{v} is read before it has arrived");
                self.vgprs[&register]
            }
            Src::Scalar(s) => {
                let register = u32::from(s.index());
                assert!(!self.scalar_pending.contains_key(&register), "{s} is read before it has arrived");
                self.sgprs[&register]
            }
            Src::Special(_) => panic!("special source"),
        }
    }

    fn run(&mut self, code: &[u8]) {
        for inst in instructions(code) {
            self.step(inst);
        }
        assert!(self.scalar_pending.is_empty(), "descriptors are still on their way");
    }

    fn step(&mut self, inst: Instruction) {
        match (inst.entry.op, inst.fields) {
            (Op::SGetpcB64, Fields::Scalar(f)) => {
                let dst = u32::from(f.dst.expect("a pair").index());
                self.sgprs.insert(dst, 0xdead_beef);
                self.sgprs.insert(dst + 1, (HIGH >> 32) as u32);
            }
            (Op::SMovB32, Fields::Scalar(f)) => {
                let value = self.source(f.srcs[0].expect("a source"));
                self.sgprs.insert(u32::from(f.dst.expect("a register").index()), value);
            }
            (op @ (Op::SLoadDwordx4 | Op::SLoadDwordx8 | Op::SLoadDwordx16), Fields::Smem(f)) => {
                assert_eq!(f.soffset, None);
                let count = match op {
                    Op::SLoadDwordx4 => 1,
                    Op::SLoadDwordx8 => 2,
                    _ => 4,
                };
                let base = u32::from(f.base.index());
                let address = u64::from(self.sgprs[&(base + 1)]) << 32 | u64::from(self.sgprs[&base]);
                let offset = u64::try_from(f.offset).expect("no negative offset");
                let binding = (address + offset - HIGH - u64::from(TABLE)) / 16;
                let first = usize::try_from(binding).expect("small");
                let address = self.base() | HIGH;
                let words = self.strides[first..first + count].iter().flat_map(|stride| {
                    let records = (BUFFER_BYTES as u32).checked_div(*stride).unwrap_or(BUFFER_BYTES as u32);
                    [address as u32, (address >> 32) as u32 | stride << 16, records, 0]
                });
                self.scalar_pending.extend((u32::from(f.data.index())..).zip(words));
            }
            (Op::SWaitcnt, Fields::Scalar(f)) => match Isa::of(Gpu::Gfx1030).waits.of_constant(f.imm) {
                counts if counts == WaitCounts::all(Counter::Scalar) => self.sgprs.append(&mut self.scalar_pending),
                counts if counts == WaitCounts::all(Counter::Vector) => self.vgprs.append(&mut self.vector_pending),
                other => panic!("{other:?}"),
            },
            (op, Fields::Vector(f)) => {
                let Some(VectorDst::Vgpr(dst)) = f.dst else { panic!("{op:?}") };
                let [a, b] = [f.srcs[0], f.srcs[1]].map(|src| src.map_or(0, |src| self.source(src)));
                let value = match op {
                    Op::VMovB32 => a,
                    Op::VAddNcU32 => a.wrapping_add(b),
                    Op::VSubNcU32 => a.wrapping_sub(b),
                    Op::VLshrrevB32 => b >> (a & 31),
                    Op::VAndB32 => a & b,
                    Op::VMulHiU32 => ((u64::from(a) * u64::from(b)) >> 32) as u32,
                    other => panic!("{other:?}"),
                };
                self.write(dst, value);
            }
            (_, Fields::Buffer(f)) => self.load(inst.entry, &f),
            _ => panic!("{}", inst.text(Isa::of(Gpu::Gfx1030), WaveSize::W64)),
        }
    }

    fn write(&mut self, dst: Vgpr, value: u32) {
        let register = u32::from(dst.number());
        assert!(!self.vector_pending.contains_key(&register), "{dst} is overwritten by a load later");
        self.vgprs.insert(register, value);
    }

    fn load(&mut self, entry: &OpcodeRow, buffer: &BufferFields) {
        assert!(buffer.idxen && !buffer.offen, "not structured");
        let index = self.source(buffer.vaddr.into());
        let word = |i: u8| {
            let register = Scalar::at(buffer.resource.index() + i).expect("in range");
            self.source(Src::Scalar(register))
        };
        let base = u64::from(word(1) & 0xffff) << 32 | u64::from(word(0));
        let stride = word(1) >> 16;
        let soffset = self.source(buffer.soffset);
        let (widths, number) = self.formats[&buffer.format.expect("typed")].clone();
        let size = widths.iter().map(|w| u32::from(*w)).sum::<u32>() / 8;
        let offset = buffer.offset;
        assert!(index < word(2), "index {index} is out of range");
        assert!(stride == 0 || offset < stride, "offset {offset} is out of range");
        let address = base + u64::from(soffset) + u64::from(index) * u64::from(stride) + u64::from(offset);
        assert_eq!(address % u64::from(size.min(4)), 0, "a load of {size} bytes is not aligned");
        let at = usize::try_from(address - HIGH - self.base()).expect("inside");
        let (count, halves) = match entry.op {
            Op::TbufferLoadFormatX => (1, false),
            Op::TbufferLoadFormatXy => (2, false),
            Op::TbufferLoadFormatXyz => (3, false),
            Op::TbufferLoadFormatXyzw => (4, false),
            Op::TbufferLoadFormatD16X => (1, true),
            Op::TbufferLoadFormatD16Xy => (2, true),
            Op::TbufferLoadFormatD16Xyz => (3, true),
            Op::TbufferLoadFormatD16Xyzw => (4, true),
            other => panic!("{other:?}"),
        };
        let mut bit = 0;
        let mut values = Vec::new();
        for width in widths.iter().take(count) {
            values.push(convert(raw(at, bit, u32::from(*width)), *width, number));
            bit += u32::from(*width);
        }
        assert_eq!(values.len(), count, "{} of {widths:?}", entry.mnemonic);
        let data = u32::from(buffer.data.number());
        for (i, value) in (0u32..).zip(values) {
            let (register, value) = if halves {
                let register = data + i / 2;
                // The load leaves the other half unchanged, so it is undefined.
                let old = self.vector_pending.get(&register).copied().unwrap_or(0xabcd_abcd);
                let shift = 16 * (i % 2);
                (register, old & !(0xffff << shift) | narrow(value) << shift)
            } else {
                (data + i, value)
            };
            self.vector_pending.insert(register, value);
        }
    }
}

/// The expected value of an input, read directly from the buffer.
fn expected(format: &Format, input: &VertexInput, binding: &VertexBinding, offset: u32) -> Vec<u32> {
    let index = match (binding.rate, binding.divisor) {
        (VertexRate::Vertex, _) => VERTEX_ID + BASE_VERTEX,
        (VertexRate::Instance, divisor) => INSTANCE_ID.checked_div(divisor).unwrap_or(0) + BASE_INSTANCE,
    };
    let at = (index * binding.stride + offset) as usize;
    let mut all = Vec::new();
    for component in input.component..input.component + input.count {
        let Some(position) = format.position(component) else {
            let one = match (input.ty.kind, input.ty.bits) {
                (dovetail_base::kinds::NumericKind::Float, 16) => 0x3c00,
                (dovetail_base::kinds::NumericKind::Float, 64) => 0x3ff0_0000_0000_0000,
                (dovetail_base::kinds::NumericKind::Float, _) => 0x3f80_0000,
                _ => 1u64,
            };
            let value = if component == 3 { one } else { 0 };
            all.push(value as u32);
            all.extend((input.ty.bits == 64).then_some((value >> 32) as u32));
            continue;
        };
        let widths = format.widths();
        let bit = widths.iter().take(usize::from(position)).map(|w| u32::from(*w)).sum();
        let width = widths[usize::from(position)];
        if width == 64 {
            all.extend([raw(at, bit, 32), raw(at, bit + 32, 32)]);
            continue;
        }
        let value = convert(raw(at, bit, u32::from(width)), width, format.number);
        all.push(match (input.ty.kind, input.ty.bits) {
            (_, 32) => value,
            (dovetail_base::kinds::NumericKind::Float, _) => narrow(value),
            (_, bits) => value & ((1 << bits) - 1),
        });
    }
    all
}

fn check(name: &str, input: &VertexInput, binding: &VertexBinding, offset: u32) {
    let what = format!("{name} {input:?} {binding:?} offset {offset}");
    let format = name.parse().expect("a format");
    let attribute = VertexAttribute { location: 0, binding: binding.binding, format, offset };
    let state = VertexInputState { bindings: vec![binding.clone()], attributes: vec![attribute] };
    let plan = FetchPlan::new(Gpu::Gfx1030, std::slice::from_ref(input), &state).expect(&what);
    let user_data = [UserData::GlobalTable, UserData::VertexBufferTable, UserData::BaseVertex, UserData::BaseInstance];
    for awaits_inputs in [false, true] {
        let takes = BodyTakes { awaits_inputs, address_high: awaits_inputs };
        let key = FetchKey::new(Gpu::Gfx1030, plan.clone(), &user_data, 5, takes).expect(&what);
        check_key(&what, key, input, binding, offset);
    }
}

fn check_key(what: &str, key: FetchKey, input: &VertexInput, binding: &VertexBinding, offset: u32) {
    let name = what.split(' ').next().unwrap_or_default();
    let (awaited, address_high, dwords) = (key.awaited, key.address_high, key.plan.dwords.len() as u32);
    let piece = emit(&GlueKey { target: Gpu::Gfx1030, piece: PieceKey::Fetch(key) }).expect(what);

    let format = Format::parse(name).expect(name);
    let align = if format.packed { 4 } else { u64::from(format.max_bits().min(32)) / 8 };
    let entry: BTreeMap<u32, u32> = (0u32..).zip([7, TABLE, BASE_VERTEX, BASE_INSTANCE, 9]).collect();
    let system: BTreeMap<u32, u32> = (0u32..).zip([VERTEX_ID, 11, 12, INSTANCE_ID]).collect();
    let mut lane = Lane {
        sgprs: entry.clone(),
        vgprs: system.clone(),
        vector_pending: BTreeMap::new(),
        scalar_pending: BTreeMap::new(),
        strides: vec![binding.stride; binding.binding as usize + 1],
        component_align: align,
        formats: buffer_formats(),
    };
    lane.run(&piece.code);
    let fetched = 4..4 + dwords;
    let legal = |register: &u32| awaited && fetched.contains(register);
    assert!(lane.vector_pending.keys().all(legal), "{what}: loads are still on their way");
    lane.vgprs.append(&mut lane.vector_pending);
    let high = table_address_sgpr(kept_sgprs(5)) + 1;
    assert!(!(awaited || address_high) || lane.sgprs[&high] == (HIGH >> 32) as u32, "{what}");
    assert!(entry.iter().all(|(register, value)| lane.sgprs[register] == *value), "{what}");
    assert!(system.iter().all(|(register, value)| lane.vgprs[register] == *value), "{what}");
    let wanted = expected(&format, input, binding, offset);
    let got: Vec<u32> = (4..).take(wanted.len()).map(|register| lane.vgprs[&register]).collect();
    assert_eq!(got, wanted, "{what}");
    let top = |registers: &BTreeMap<u32, u32>| registers.keys().max().copied().unwrap_or(0);
    assert!(piece.vgprs > top(&lane.vgprs), "{what}: VGPR count");
    assert!(piece.sgprs == 0 || piece.sgprs > top(&lane.sgprs), "{what}: SGPR count");
}

fn vertex_formats() -> Vec<String> {
    let numbers = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "SFLOAT", "UFLOAT"];
    let mut layouts = Vec::new();
    for bits in [8, 16, 32, 64] {
        for channels in ["R", "RG", "RGB", "RGBA", "BGRA"] {
            let layout: String = channels.chars().map(|c| format!("{c}{bits}")).collect();
            layouts.extend(numbers.map(|number| format!("{layout}_{number}")));
        }
    }
    for layout in ["A8B8G8R8", "A2R10G10B10", "A2B10G10R10", "B10G11R11"] {
        layouts.extend(numbers.map(|number| format!("{layout}_{number}_PACK32")));
    }
    layouts.retain(|name| Format::parse(name).is_ok());
    layouts
}

fn types(format: &Format) -> Vec<ComponentType> {
    let names: &[&str] = match (format.max_bits(), format.number) {
        (64, Number::Float) => &["f64"],
        (64, _) => &["i64", "u64"],
        (_, Number::Uint) => &["u32", "u16", "u8", "i16"],
        (_, Number::Sint) => &["i32", "i16", "i8"],
        _ => &["f32", "f16"],
    };
    names.iter().map(|name| component_type(name)).collect()
}

#[test]
fn every_vertex_format_is_fetched_as_it_lies() {
    let formats = vertex_formats();
    assert_eq!(formats.len(), 6 * 5 + 7 * 4 + 3 * 4 + 3 * 4 + 6 * 3 + 1);
    for name in formats {
        let format = Format::parse(&name).expect("kept");
        let size = format.widths().iter().map(|w| u32::from(*w)).sum::<u32>() / 8;
        let align = if format.packed { 4 } else { u32::from(format.max_bits().min(32)) / 8 };
        for ty in types(&format) {
            for component in 0..4 {
                for count in 1..=4 - component {
                    let input = VertexInput { location: 0, component, count, ty };
                    // Tight stride, large stride, stride shorter than the attribute.
                    for (stride, offset) in [(size.next_multiple_of(align), 0), (60, 8), (60, 128), (align, 0)] {
                        let binding = VertexBinding { binding: 1, stride, rate: VertexRate::Vertex, divisor: 1 };
                        check(&name, &input, &binding, offset);
                    }
                }
            }
        }
    }
}

#[test]
fn every_rate_reads_its_element() {
    let input = VertexInput { location: 0, component: 0, count: 3, ty: ComponentType::F32 };
    for divisor in (0..40).chain([641, u32::MAX]) {
        for (stride, offset) in [(12, 0), (16, 20), (0, 0), (0, 2000)] {
            let binding = VertexBinding { binding: 3, stride, rate: VertexRate::Instance, divisor };
            check("R32G32B32_SFLOAT", &input, &binding, offset);
        }
    }
    let binding = VertexBinding { binding: 0, stride: 0, rate: VertexRate::Vertex, divisor: 1 };
    check("R32G32B32_SFLOAT", &input, &binding, 9000);
}
