//! Memory: scalar loads, buffers, addresses, LDS, workgroups.

use super::*;

/// A raw buffer descriptor in s[4:7].
fn buffer(test: &mut Test, address: u64, stride: u32, records: u32, word3: u32) {
    for (n, word) in [address as u32, (address >> 32) as u32 | stride << 16, records, word3].into_iter().enumerate() {
        test.s(4 + n as u8, word);
    }
}

const RAW: u32 = 0x3101_4fac;

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| access::number(word) as u32).collect()
}

#[test]
fn scalar_loads() {
    let text = "s_load_dwordx2 s[8:9], s[0:1], 0x8
        s_load_dword s10, s[0:1], s2 offset:0x4
        s_buffer_load_dwordx4 s[12:15], s[4:7], 0x18";
    let Some(mut test) = Test::new("scalar_loads", WaveSize::W32, text) else { return };
    let at = test.machine.alloc_with(&bytes(0..16)).unwrap();
    test.s(0, at as u32);
    test.s(1, (at >> 32) as u32);
    test.s(2, 0x10);
    buffer(&mut test, at, 0, 0x20, RAW);
    test.run();
    assert_eq!([8, 9, 10].map(|n| test.sgpr(n)), [2, 3, 5]);
    // The last two dwords are beyond the end.
    assert_eq!([12, 13, 14, 15].map(|n| test.sgpr(n)), [6, 7, 0, 0]);
}

#[test]
fn offsets_below_zero_come_back() {
    let text = "v_sub_nc_u32 v1, v0, 8
        buffer_load_ubyte v2, v1, s[4:7], 0 offen offset:8
        buffer_load_ubyte v3, v1, s[4:7], 0 offen";
    let Some(mut test) = Test::new("below_zero", WaveSize::W32, text) else { return };
    let at = test.machine.alloc_with(&(1..=64).collect::<Vec<u8>>()).unwrap();
    buffer(&mut test, at, 0, 64, RAW);
    test.v(0, |lane| lane as u32);
    test.run();
    for lane in 0..32usize {
        let alone = if lane < 8 { 0 } else { lane as u32 - 7 };
        assert_eq!([2, 3].map(|n| test.vgpr(n, lane)), [lane as u32 + 1, alone], "lane {lane}");
    }
}

#[test]
fn raw_buffers_end_at_their_bytes() {
    let text = "v_lshlrev_b32 v1, 2, v0
        buffer_load_dwordx2 v[2:3], v1, s[4:7], 0 offen offset:4
        buffer_load_ubyte v4, v0, s[4:7], 0 offen
        buffer_load_sshort v5, v1, s[4:7], s2 offen
        v_mov_b32 v6, 0x1111
        buffer_store_short v6, v1, s[4:7], 0 offen offset:2";
    let Some(mut test) = Test::new("raw_buffers", WaveSize::W32, text) else { return };
    let at = test.machine.alloc_with(&bytes((0..16).map(|n| 0x8070_6000 + n))).unwrap();
    buffer(&mut test, at, 0, 64, RAW);
    test.s(2, 2);
    test.v(0, |lane| lane as u32);
    test.run();
    for lane in 0..32usize {
        let word = |n: usize| if n < 16 { 0x8070_6000 + n as u32 } else { 0 };
        assert_eq!([2, 3].map(|n| test.vgpr(n, lane)), [word(lane + 1), word(lane + 2)], "lane {lane}");
        let byte = bytes([word(lane / 4)])[lane % 4];
        assert_eq!(test.vgpr(4, lane), u32::from(byte));
        assert_eq!(test.vgpr(5, lane), if lane < 16 { 0xffff_8070 } else { 0 });
    }
    let after = words(test.machine.read(at, 64).unwrap());
    assert_eq!(after, (0..16).map(|n| 0x1111_6000 + n).collect::<Vec<_>>());
}

#[test]
fn structured_buffers_end_at_their_records() {
    let text = "buffer_load_dword v1, v0, s[4:7], 0 idxen offset:4
        v_mov_b32 v3, 8
        v_mov_b32 v2, v0
        buffer_load_dword v4, v[2:3], s[4:7], 0 idxen offen";
    for (oob, bound) in [(0u32, 5), (1, 5), (2, 32)] {
        let Some(mut test) = Test::new("structured_buffers", WaveSize::W32, text) else { return };
        let at = test.machine.alloc_with(&bytes(0..100)).unwrap();
        buffer(&mut test, at, 8, 5, 0x0101_4fac | oob << 28);
        test.v(0, |lane| lane as u32);
        test.run();
        for lane in 0..32 {
            let read = |offset: usize| (lane * 8 + offset) as u32 / 4;
            assert_eq!(test.vgpr(1, lane), if lane < bound { read(4) } else { 0 }, "rule {oob} lane {lane}");
            // The offset is beyond the stride.
            assert_eq!(test.vgpr(4, lane), if lane < bound && oob != 0 { read(8) } else { 0 });
        }
    }
}

#[test]
fn formats_convert_both_ways() {
    let text = "tbuffer_load_format_xyzw v[4:7], v0, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UNORM] idxen
        s_waitcnt vmcnt(0)
        tbuffer_store_format_xyzw v[4:7], v0, s[8:11], 0 format:[BUF_FMT_16_16_16_16_UNORM] idxen
        tbuffer_load_format_d16_xyzw v[12:13], v0, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UNORM] idxen
        buffer_load_format_xy v[14:15], v0, s[4:7], 0 idxen";
    let Some(mut test) = Test::new("formats", WaveSize::W32, text) else { return };
    let texels: Vec<u8> = (0..128).map(|n| (n * 37) as u8).collect();
    let from = test.machine.alloc_with(&texels).unwrap();
    let to = test.machine.alloc(256).unwrap();
    // 8_8_8_8_UINT in the descriptor.
    buffer(&mut test, from, 4, 32, 0x0100_0fac | 60 << 12 | 1 << 28);
    for (n, word) in [to as u32, (to >> 32) as u32 | 8 << 16, 32, 0x1101_4fac].into_iter().enumerate() {
        test.s(8 + n as u8, word);
    }
    test.v(0, |lane| lane as u32);
    test.run();
    for lane in 0..32 {
        for channel in 0..4 {
            let byte = texels[4 * lane + channel];
            let value = f32::from_bits(test.vgpr(4 + channel as u8, lane));
            assert_eq!(value, f32::from(byte) / 255.0);
            let half = test.vgpr(12 + channel as u8 / 2, lane) >> (16 * (channel % 2)) & 0xffff;
            assert_eq!(half as u16, mode::to_f16(f64::from(byte) / 255.0, mode::Round::Nearest));
            let stored = test.machine.read(to + 8 * lane as u64 + 2 * channel as u64, 2).unwrap();
            assert_eq!(access::number(stored), u64::from(byte) * 257);
        }
        assert_eq!(test.vgpr(14, lane), u32::from(texels[4 * lane]));
    }
}

#[test]
fn scratch_keeps_lanes_apart() {
    // The driver's descriptor: stride 0, swizzled, thread id added, never out of range (isa-gfx10 6).
    let text = "s_bitset0_b32 s7, 21
        buffer_store_dword v0, v1, s[4:7], 0 offen
        buffer_store_dword v2, v1, s[4:7], 0 offen offset:4
        buffer_load_dword v3, v1, s[4:7], 0 offen
        buffer_load_dword v4, v1, s[4:7], 0 offen offset:4";
    let Some(mut test) = Test::new("scratch", WaveSize::W32, text) else { return };
    let at = test.machine.alloc(32 * 16).unwrap();
    buffer(&mut test, at, 0, u32::MAX, 0x0101_6fac | 3 << 21 | 1 << 23 | 2 << 28);
    let enabled = test.sgpr(5) | 1 << 31;
    test.s(5, enabled);
    test.v(0, |lane| 100 + lane as u32);
    test.v(2, |lane| 200 + lane as u32);
    test.v(1, |_| 4);
    test.run();
    assert_eq!(test.row(3), (100..132).collect::<Vec<_>>());
    assert_eq!(test.row(4), (200..232).collect::<Vec<_>>());
    let stored = words(test.machine.read(at + 128, 256).unwrap());
    assert_eq!(stored, (100..132).chain(200..232).collect::<Vec<_>>());
}

#[test]
fn addresses() {
    let text = "v_lshlrev_b32 v1, 3, v0
        global_load_dwordx2 v[2:3], v1, s[0:1] offset:8
        v_add_co_u32 v4, vcc_lo, s0, v1
        v_add_co_ci_u32 v5, vcc_lo, s1, 0, vcc_lo
        global_load_ushort v6, v[4:5], off offset:2
        global_store_dword v[4:5], v0, off
        v_mov_b32 v7, 1
        v_mov_b32 v8, 0
        global_atomic_add v9, v8, v7, s[2:3] glc";
    let text = text.replace("s1, 0, vcc_lo", "v10, v8, vcc_lo");
    let Some(mut test) = Test::new("addresses", WaveSize::W32, &format!("v_mov_b32 v8, 0\nv_mov_b32 v10, s1\n{text}"))
    else {
        return;
    };
    let at = test.machine.alloc_with(&bytes((0..80).map(|n| n << 16 | 7))).unwrap();
    let counter = test.machine.alloc_with(&bytes([1000])).unwrap();
    for (n, word) in [at as u32, (at >> 32) as u32, counter as u32, (counter >> 32) as u32].into_iter().enumerate() {
        test.s(n as u8, word);
    }
    test.v(0, |lane| lane as u32);
    test.run();
    for lane in 0..32u32 {
        let place = lane as usize;
        assert_eq!([2, 3].map(|n| test.vgpr(n, place)), [2, 3].map(|n| (2 * lane + n) << 16 | 7));
        assert_eq!(test.vgpr(6, place), 2 * lane);
        assert_eq!(test.vgpr(9, place), 1000 + lane);
    }
    assert_eq!(words(test.machine.read(counter, 4).unwrap()), [1032]);
    assert_eq!(words(test.machine.read(at + 8 * 31, 4).unwrap()), [31]);
}

#[test]
fn shared_memory() {
    let text = "v_lshlrev_b32 v1, 2, v0
        ds_write_b32 v1, v0
        ds_read2_b32 v[2:3], v1 offset0:1 offset1:2
        v_mov_b32 v4, 512
        v_mov_b32 v5, 0
        ds_write_b32 v4, v5
        v_mov_b32 v5, 2
        ds_add_u32 v4, v5
        ds_max_rtn_u32 v6, v4, v0
        ds_read_b32 v7, v4
        v_mov_b32 v8, 64
        v_mov_b32 v9, 5
        ds_cmpst_rtn_b32 v10, v4, v8, v9
        ds_read_b32 v11, v4
        v_mov_b32 v4, 2000
        ds_read_b32 v12, v4
        ds_read_u8 v13, v1";
    let text = text.replace(", 512", ", 0x200").replace("2000", "0x7d0");
    let Some(mut test) = Test::new("shared_memory", WaveSize::W32, &text) else { return };
    test.v(0, |lane| lane as u32);
    test.run();
    for lane in 0..29 {
        assert_eq!([2, 3].map(|n| test.vgpr(n, lane)), [lane as u32 + 1, lane as u32 + 2]);
        assert_eq!(test.vgpr(6, lane), 64);
        assert_eq!(test.vgpr(7, lane), 64);
        // The first lane finds the expected value.
        assert_eq!(test.vgpr(10, lane), if lane == 0 { 64 } else { 5 });
        assert_eq!([11, 12].map(|n| test.vgpr(n, lane)), [5, 0]);
        assert_eq!(test.vgpr(13, lane), lane as u32);
    }
}

#[test]
fn waves_meet_at_barriers() {
    // Each wave writes its own dword, then reads that of the other.
    let text = "v_mov_b32 v1, s0
        v_mov_b32 v2, s1
        ds_write_b32 v1, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_mov_b32 v1, s2
        ds_read_b32 v3, v1
        s_waitcnt lgkmcnt(0)";
    let Some(mut test) = Test::new("waves_meet", WaveSize::W32, text) else { return };
    let mut waves = vec![test.wave.clone(), test.wave.clone()];
    for (n, wave) in waves.iter_mut().enumerate() {
        let other = 1 - n as u32;
        for (register, value) in [4 * n as u32, 50 + n as u32, 4 * other].into_iter().enumerate() {
            wave.set_scalar(sgpr(register as u8), value);
        }
    }
    test.machine.run_group(&mut waves, 64, RunLimits::default(), &mut test.stats).expect("runs");
    assert_eq!(waves[0].vgpr(Vgpr(3), 0, 0), 51);
    assert_eq!(waves[1].vgpr(Vgpr(3), 0, 0), 50);
    assert_eq!((test.stats.waves, test.stats.total()), (2, 18));
}

#[test]
fn parameters_are_interpolated() {
    let text = "s_mov_b32 m0, s0
        v_interp_p1_f32 v2, v0, attr1.z
        v_interp_p2_f32 v2, v1, attr1.z
        v_interp_mov_f32 v3, p0, attr1.z
        exp mrt0 v2, v3, off, off done vm";
    let Some(mut test) = Test::new("parameters", WaveSize::W32, text) else { return };
    let plane = |p: [f32; 3]| [[0; 3], [0; 3], p.map(f32::to_bits), [0; 3]];
    let primitive = |p| vec![[[0; 3]; 4], plane(p)];
    let primitives = vec![primitive([1.0, 2.0, 3.0]), primitive([10.0, 20.0, 30.0])];
    test.wave.parameters = Some(std::sync::Arc::new(Parameters { primitives }));
    // The second primitive begins with quad 2.
    test.s(0, 1 << 17);
    test.v(0, |_| 0.5f32.to_bits());
    test.v(1, |_| 0.25f32.to_bits());
    test.run();
    let export = test.wave.exports.first().expect("an export");
    assert_eq!((export.target, export.enabled, export.done, export.vm), (0, 3, true, true));
    for lane in 0..32 {
        let scale = if lane < 8 { 1.0 } else { 10.0 };
        assert_eq!(f32::from_bits(export.values[0][lane]), 2.75 * scale, "lane {lane}");
        assert_eq!(f32::from_bits(export.values[1][lane]), scale);
    }
}

#[test]
fn halves_are_interpolated() {
    let text = "s_mov_b32 m0, s0
        v_interp_p1ll_f16 v2, v0, attr0.y high
        v_interp_p2_f16 v2, v1, attr0.y, v2 high
        v_interp_mov_f32 v3, p0, attr0.y
        v_interp_p1lv_f16 v4, v0, attr0.y, v3 high
        v_interp_p2_f16 v4, v1, attr0.y, v4 high";
    let Some(mut test) = Test::new("halves", WaveSize::W32, text) else { return };
    // The high halves are 1, 2 and 4; the low halves must not be read.
    let plane = [0x3c00_7e00, 0x4000_7e00, 0x4400_7e00];
    let primitives = vec![vec![[[0; 3], plane, [0; 3], [0; 3]]]];
    test.wave.parameters = Some(std::sync::Arc::new(Parameters { primitives }));
    test.s(0, 0);
    test.v(0, |_| 0.5f32.to_bits());
    test.v(1, |_| 0.25f32.to_bits());
    test.run();
    // 1 + 0.5 × 2 + 0.25 × 4.
    assert_eq!([2, 4].map(|v| test.vgpr(v, 7) & 0xffff), [0x4200, 0x4200]);
}
