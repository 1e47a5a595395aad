//! Memory of every class, in every shape and alignment.

use super::{compiles, compute, has, params, shader, store};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::{
    Access, Align, AluOp, AmdOp, AtomicOp, Bits, BufferKind, Builder, ConstTable, Local, Op, RegClass, Shader,
    Terminator, Type, Value,
};

const PLAIN: Access = Access::PLAIN;
const COHERENT: Access = Access { coherent: true, ..PLAIN };
const VOLATILE: Access = Access { volatile: true, ..PLAIN };
const STREAMED: Access = Access { nontemporal: true, ..PLAIN };
const DIVERGENT: Access = Access { non_uniform: true, ..PLAIN };
const READ_ONLY: Access = Access { read_only: true, ..PLAIN };

/// Types of memory accesses.
fn types() -> Vec<Type> {
    let mut out = Vec::new();
    for bits in [Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        for lanes in [1, 2, 3, 4, 8] {
            out.extend(Type::vector(bits, lanes));
        }
    }
    out
}

/// Every kind of access at one alignment, the plain one at the others.
fn accesses(align: Align) -> &'static [Access] {
    const ALL: &[Access] = &[PLAIN, COHERENT, VOLATILE, STREAMED, DIVERGENT, READ_ONLY];
    if align == Align::A4 { ALL } else { &ALL[..1] }
}

fn ssbo(access: Access, align: Align) -> Op {
    Op::BufferLoad { kind: BufferKind::Storage, align, access }
}

#[test]
fn buffers_take_every_type_at_every_alignment() {
    for ty in types() {
        for align in [Align::A1, Align::A2, Align::A4, Align::A16] {
            for &access in accesses(align) {
                compiles(&compute(WaveSize::W64, &[Type::B32], |b, d, v| {
                    let x = b.value(ssbo(access, align), &[d, v[0]], ty);
                    b.effect(Op::BufferStore { align, access }, &[d, v[0], x]);
                    vec![]
                }));
            }
        }
    }
}

#[test]
fn uniform_buffers_go_through_the_scalar_cache_where_they_may() {
    let load = |kind, access| {
        compiles(&compute(WaveSize::W32, &[], |b, d, _| {
            let at = b.c32(16);
            vec![b.value(Op::BufferLoad { kind, align: Align::A16, access }, &[d, at], Type::DESC4)]
        }))
    };
    has(&load(BufferKind::Uniform, Access::default()), &["s_buffer_load_dwordx4"]);
    has(&load(BufferKind::Storage, READ_ONLY), &["s_buffer_load_dwordx4"]);
    has(&load(BufferKind::Storage, Access::default()), &["buffer_load_dwordx4 "]);
    has(&load(BufferKind::Uniform, DIVERGENT), &["s_buffer_load_dwordx4"]);
    has(&load(BufferKind::Storage, COHERENT), &["glc dlc"]);
}

#[test]
fn a_descriptor_of_each_lane_gets_one_loop() {
    for wave in [WaveSize::W32, WaveSize::W64] {
        let args = [(RegClass::Sgpr, Type::B64), (RegClass::Sgpr, Type::DESC4), (RegClass::Vgpr, Type::B32)];
        let mut shader = shader(Stage::Compute, wave, &args, &[]);
        let [table, out, lane] = params(&shader)[..] else { panic!("three parameters") };
        let mut b = Builder::new(&mut shader, Shader::ENTRY);
        let size = b.c32(16);
        let place = b.alu(AluOp::IMul, &[lane, size]);
        let descriptor = b.value(Op::Target(AmdOp::TableLoad { align: Align::A4 }), &[table, place], Type::DESC4);
        let loaded = b.value(ssbo(PLAIN, Align::A4), &[descriptor, lane], Type::B32);
        b.effect(Op::BufferStore { align: Align::A4, access: PLAIN }, &[descriptor, size, loaded]);
        store(&mut b, out, 0, loaded);
        b.terminate(Terminator::Return(&[]));
        let text = compiles(&shader);
        // LLVM's own loop would read each dword of a descriptor from the first lane.
        assert_eq!(text.matches("v_readfirstlane_b32").count(), 2, "{text}");
        assert_eq!(text.matches("s_load_dwordx4").count(), 2, "{text}");
    }
}

const ATOMICS: [AtomicOp; 16] = [
    AtomicOp::Load,
    AtomicOp::Store,
    AtomicOp::Exchange,
    AtomicOp::CompareExchange,
    AtomicOp::IAdd,
    AtomicOp::ISub,
    AtomicOp::SMin,
    AtomicOp::UMin,
    AtomicOp::SMax,
    AtomicOp::UMax,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::FAdd,
    AtomicOp::FMin,
    AtomicOp::FMax,
];

fn atomic_data(op: AtomicOp, x: Value) -> Vec<Value> {
    match op {
        AtomicOp::Load => vec![],
        AtomicOp::CompareExchange => vec![x, x],
        _ => vec![x],
    }
}

#[test]
fn atomics_of_every_memory() {
    for op in ATOMICS {
        for ty in [Type::B32, Type::B64] {
            for used in [false, true] {
                let access = Access::default();
                let mut shader = compute(WaveSize::W32, &[Type::B32, Type::B64, ty], |b, d, v| {
                    let data = atomic_data(op, v[2]);
                    let with = |head: &[Value]| head.iter().chain(&data).copied().collect::<Vec<_>>();
                    let olds = [
                        b.value(Op::BufferAtomic { op, access }, &with(&[d, v[0]]), ty),
                        b.value(Op::Target(AmdOp::TexelAtomic { op, access }), &with(&[d, v[0]]), ty),
                        b.value(Op::GlobalAtomic { op, access }, &with(&[v[1]]), ty),
                        b.value(Op::SharedAtomic(op), &with(&[v[0]]), ty),
                    ];
                    if used { olds.to_vec() } else { vec![] }
                });
                shader.shared_bytes = 1024;
                compiles(&shader);
            }
        }
    }
}

#[test]
fn float_sums_on_buffers_are_a_loop() {
    let text = compiles(&compute(WaveSize::W32, &[Type::B32; 2], |b, d, v| {
        vec![b.value(Op::BufferAtomic { op: AtomicOp::FAdd, access: Access::default() }, &[d, v[0], v[1]], Type::B32)]
    }));
    has(&text, &["buffer_atomic_cmpswap", "v_add_f32"]);
}

#[test]
fn pointers_take_every_type_at_every_alignment() {
    for ty in types() {
        for align in [Align::A1, Align::A4, Align::A16] {
            for &access in accesses(align) {
                let mut shader = compute(WaveSize::W32, &[Type::B32, Type::B64], |b, _, v| {
                    let x = b.value(Op::GlobalLoad { align, access }, &[v[1]], ty);
                    b.effect(Op::SharedStore { align, access }, &[v[0], x]);
                    let y = b.value(Op::SharedLoad { align, access }, &[v[0]], ty);
                    b.effect(Op::GlobalStore { align, access }, &[v[1], y]);
                    vec![]
                });
                shader.shared_bytes = 4096;
                compiles(&shader);
            }
        }
    }
}

#[test]
fn scratch_and_tables() {
    for ty in types() {
        let mut shader = shader(
            Stage::Compute,
            WaveSize::W32,
            &[(RegClass::Sgpr, Type::B32), (RegClass::Sgpr, Type::DESC4), (RegClass::Vgpr, Type::B32)],
            &[],
        );
        let p = params(&shader);
        let local = shader.add_local(Local { name: "a".into(), bytes: 1000, align: Align::A16 });
        shader.tables.push(ConstTable { bytes: (0..=255).collect(), align: Align::A16 });
        let table = dovetail_ir::ConstTableId(0);
        let mut b = Builder::new(&mut shader, Shader::ENTRY);
        let x = b.value(Op::ConstLoad { table, align: Align::A4 }, &[p[2]], ty);
        b.effect(Op::LocalStore { local, align: Align::A4 }, &[p[2], x]);
        let at = b.c32(4);
        let y = b.value(Op::LocalLoad { local, align: Align::A4 }, &[at], ty);
        store(&mut b, p[1], 0, y);
        b.terminate(Terminator::Return(&[]));
        has(&compiles(&shader), &[".rodata"]);
    }
}

#[test]
fn small_arrays_stay_in_registers() {
    let mut shader = compute(WaveSize::W32, &[Type::B32; 2], |_, _, _| vec![]);
    let p = params(&shader);
    let local = shader.add_local(Local { name: "a".into(), bytes: 16, align: Align::A4 });
    shader.blocks[0].end.clear();
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    for i in 0..4 {
        let at = b.c32(4 * i);
        b.effect(Op::LocalStore { local, align: Align::A4 }, &[at, p[2]]);
    }
    let at = b.imul_const(p[1], 4);
    let three = b.c32(3);
    let masked = b.alu(AluOp::IAnd, &[p[1], three]);
    let index = b.imul_const(masked, 4);
    b.effect(Op::LocalStore { local, align: Align::A4 }, &[index, at]);
    let last = b.c32(8);
    let x = b.value(Op::LocalLoad { local, align: Align::A4 }, &[last], Type::B32);
    store(&mut b, p[0], 0, x);
    b.terminate(Terminator::Return(&[]));
    let text = compiles(&shader);
    has(&text, &[".scratch_memory_size: 0", "v_cndmask"]);
}

#[test]
fn tables_are_read_by_scalar_loads_behind_the_code_s_own_address() {
    let mut shader =
        shader(Stage::Compute, WaveSize::W32, &[(RegClass::Sgpr, Type::B32), (RegClass::Vgpr, Type::B32)], &[]);
    let p = params(&shader);
    let symbol = shader.symbol("doff_0_3_b");
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let high = b.value(Op::Target(AmdOp::AddressHigh), &[], Type::B32);
    let pair = b.compose(&[p[0], high]);
    let base = b.bitcast(pair, Type::B64);
    let offset = b.value(Op::Reloc(symbol), &[], Type::B32);
    let d = b.value(Op::Target(AmdOp::TableLoad { align: Align::A16 }), &[base, offset], Type::DESC4);
    let image = b.value(Op::Target(AmdOp::TableLoad { align: Align::A16 }), &[base, offset], Type::DESC8);
    let size = b.extract(d, 2);
    store(&mut b, d, 0, size);
    store(&mut b, d, 64, image);
    b.terminate(Terminator::Return(&[]));
    has(&compiles(&shader), &["s_getpc_b64", "doff_0_3_b", "s_load_dwordx"]);
}

#[test]
fn texels_and_typed_fetches() {
    for lanes in 1..=4 {
        let ty = Type::vector(Bits::B32, lanes).unwrap();
        for access in [Access::default(), COHERENT, DIVERGENT] {
            let text = compiles(&compute(WaveSize::W64, &[Type::B32], |b, d, v| {
                let x = b.value(Op::Target(AmdOp::TexelLoad { sparse: false, access }), &[d, v[0]], ty);
                b.effect(Op::Target(AmdOp::TexelStore { access }), &[d, v[0], x]);
                vec![b.value(Op::Target(AmdOp::TypedLoad { format: 77, offset: 16 }), &[d, v[0]], ty)]
            }));
            has(&text, &["buffer_load_format_x", "buffer_store_format_x", "tbuffer_load_format_x"]);
        }
    }
}
