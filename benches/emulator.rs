//! Measures the emulator in lane operations per second: vector instructions times lanes.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dovetail::emu::{Machine, Mode, RunLimits, RunStats, Wave};
use dovetail::isa::Isa;
use dovetail::target::{Gpu, WaveSize};

/// A loop of eight vector instructions of different classes, with a counter and a branch.
const LOOP: [u32; 13] = [
    0xb000_03e8, // s_movk_i32 s0, 1000
    0x0600_0300, // v_add_f32 v0, v0, v1
    0x1002_0501, // v_mul_f32 v1, v1, v2
    0x5604_0700, // v_fmac_f32 v2, v0, v3
    0x4a06_0903, // v_add_nc_u32 v3, v3, v4
    0x3608_0704, // v_and_b32 v4, v4, v3
    0x340a_0a81, // v_lshlrev_b32 v5, 1, v5
    0x020c_0106, // v_cndmask_b32 v6, v6, v0, vcc
    0x7e0e_0306, // v_mov_b32 v7, v6
    0x8100_c100, // s_add_i32 s0, s0, -1
    0xbf07_8000, // s_cmp_lg_u32 s0, 0
    0xbf85_fff5, // s_cbranch_scc1, to v_add_f32
    0xbf81_0000, // s_endpgm
];

fn lanes(c: &mut Criterion) {
    let mut group = c.benchmark_group("emulator");
    group.throughput(Throughput::Elements(8 * 64 * 1000));
    group.bench_function("lane operations", |b| b.iter(run));
    group.finish();
}

fn run() -> RunStats {
    let code: Vec<u8> = LOOP.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut machine = Machine::new(Gpu::Gfx1030);
    let mut stats = RunStats::default();
    if let Ok(pc) = machine.load_code(&code) {
        let mut wave = [Wave::new(Isa::of(Gpu::Gfx1030), WaveSize::W64, pc, Mode(0x1c0), u64::MAX)];
        assert_eq!(machine.run_group(&mut wave, 0, RunLimits::default(), &mut stats), Ok(()));
    }
    stats
}

criterion_group!(benches, lanes);
criterion_main!(benches);
