//! Images: loads, stores and samples a texture of known texels.

use super::*;

/// A T# of a linear 2D image (isa-gfx10 4.4) in s[0:7], and a point or linear sampler that repeats in s[8:11].
fn bind(test: &mut Test, address: u64, format: u32, [width, height]: [u32; 2], last_level: u32, linear: bool) {
    let texture = [
        (address >> 8) as u32,
        (address >> 40) as u32 | format << 20 | ((width - 1) & 3) << 30,
        (width - 1) >> 2 | (height - 1) << 14 | 1 << 31,
        0xfac | last_level << 16 | 9 << 28,
        0,
        last_level << 4 | 4 << 20,
        0,
        0,
    ];
    let filter = if linear { 1 << 20 | 1 << 22 | 2 << 26 } else { 1 << 26 };
    let sampler = [3 << 12, 0xfff << 12, filter, 0];
    for (n, word) in (0..).zip(texture.into_iter().chain(sampler)) {
        test.s(n, word);
    }
}

/// 4 × 4 texels of 32_FLOAT, each 10·y + x, in rows of 256 bytes.
fn grid(test: &mut Test) -> u64 {
    let mut bytes = vec![0; 4 * 256];
    for (y, row) in bytes.chunks_mut(256).enumerate() {
        for x in 0..4 {
            row[4 * x..4 * x + 4].copy_from_slice(&((10 * y + x) as f32).to_le_bytes());
        }
    }
    test.machine.alloc_with(&bytes).unwrap()
}

fn floats(test: &Test, v: u8) -> Vec<f32> {
    test.row(v).into_iter().map(f32::from_bits).collect()
}

#[test]
fn texels_by_number() {
    let text = "image_load v4, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm
        s_waitcnt vmcnt(0)
        v_add_f32 v5, 1.0, v4
        image_store v5, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm
        image_load v[6:9], [v0, v1], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D unorm
        v_mov_b32 v10, 0
        image_get_resinfo v[11:12], v10, s[0:7] dmask:0x3 dim:SQ_RSRC_IMG_2D unorm";
    let text = text.replace("[v0, v1]", "v[0:1]");
    let Some(mut test) = Test::new("texels_by_number", WaveSize::W32, &text) else { return };
    let at = grid(&mut test);
    bind(&mut test, at, 22, [4, 4], 0, false);
    test.v(0, |lane| lane as u32 % 5);
    test.v(1, |lane| lane as u32 / 5);
    test.run();
    for lane in 0..25 {
        let (x, y) = (lane % 5, lane / 5);
        let inside = x < 4 && y < 4;
        let texel = (10 * y + x) as f32;
        assert_eq!(floats(&test, 4)[lane], if inside { texel } else { 0.0 });
        let all = [6, 7, 8, 9].map(|v| floats(&test, v)[lane]);
        assert_eq!(all, if inside { [texel + 1.0, 0.0, 0.0, 1.0] } else { [0.0; 4] }, "{x}, {y}");
        assert_eq!([11, 12].map(|v| test.vgpr(v, lane)), [4, 4]);
    }
}

#[test]
fn samples_are_filtered_and_wrapped() {
    let text = "image_sample_lz v4, v[0:1], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
        v_mov_b32 v2, 0x40000101
        v_mov_b32 v8, 1
        v_mov_b32 v9, v0
        v_mov_b32 v10, v1
        image_sample_lz_o v5, v[8:10], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
        v_mov_b32 v12, 0x41000000
        image_sample_c_lz v6, [v12, v0, v1], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
        image_gather4_lz v[16:19], v[0:1], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D";
    for linear in [false, true] {
        let Some(mut test) = Test::new("samples_are_filtered", WaveSize::W32, text) else { return };
        let at = grid(&mut test);
        bind(&mut test, at, 22, [4, 4], 0, linear);
        // Eighths of a texel along x, in the middle of row 1.
        test.v(0, |lane| (lane as f32 / 32.0).to_bits());
        test.v(1, |_| (1.5f32 / 4.0).to_bits());
        test.run();
        let texel = |x: i32| 10.0 + x.rem_euclid(4) as f32;
        for lane in 0..32 {
            let at = lane as f32 / 8.0;
            let mix = |at: f32, of: &dyn Fn(f32) -> f32| {
                if !linear {
                    return of(texel(at.floor() as i32));
                }
                let low = (at - 0.5).floor();
                let weight = at - 0.5 - low;
                of(texel(low as i32)) * (1.0 - weight) + of(texel(low as i32 + 1)) * weight
            };
            assert_eq!(floats(&test, 4)[lane], mix(at, &|x| x), "lane {lane}");
            assert_eq!(floats(&test, 5)[lane], mix(at + 1.0, &|x| x), "lane {lane}");
            // Reference 8 ≤ texel always holds in this row.
            assert_eq!(floats(&test, 6)[lane], 1.0);
            let low = (at - 0.5).floor() as i32;
            let gathered = [16, 17, 18, 19].map(|v| floats(&test, v)[lane]);
            assert_eq!(
                gathered,
                [texel(low) + 10.0, texel(low + 1) + 10.0, texel(low + 1), texel(low)].map(|x| x.min(40.0))
            );
        }
    }
}

#[test]
fn derivatives_of_the_quad_choose_the_level() {
    // Level 0 is 8 × 8, then 4, 2, 1; each level holds its number. The smallest level comes first in memory.
    let Some(mut test) = Test::new(
        "derivatives_choose_the_level",
        WaveSize::W32,
        "s_mov_b32 exec_lo, 0x11111111
        image_sample v4, v[0:1], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
        image_get_lod v[5:6], v[0:1], s[0:7], s[8:11] dmask:0x3 dim:SQ_RSRC_IMG_2D
        v_mov_b32 v2, 2.0
        image_sample_l v7, v[0:2], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D",
    ) else {
        return;
    };
    let mut bytes = Vec::new();
    for (level, rows) in [(3, 1), (2, 2), (1, 4), (0, 8)] {
        bytes.extend((0..64 * rows).flat_map(|_| (level as f32).to_le_bytes()));
    }
    let at = test.machine.alloc_with(&bytes).unwrap();
    bind(&mut test, at, 22, [8, 8], 3, false);
    // Quad n steps 2^n texels from lane to lane; the other lanes of the quad are inactive.
    let step = |lane: usize| f64::from(1u32 << (lane / 4).min(3)) as f32 / 8.0;
    test.v(0, |lane| ((lane & 1) as f32 * step(lane)).to_bits());
    test.v(1, |lane| ((lane >> 1 & 1) as f32 * step(lane)).to_bits());
    test.run();
    for quad in 0..4 {
        assert_eq!(floats(&test, 4)[4 * quad], quad as f32);
        assert_eq!(floats(&test, 5)[4 * quad], quad as f32);
        assert_eq!(floats(&test, 7)[4 * quad], 2.0);
    }
}

#[test]
fn null_images_read_zero() {
    let text = "image_load v[4:7], v[0:1], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D unorm
        image_store v[4:7], v[0:1], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D unorm";
    let Some(mut test) = Test::new("null_images", WaveSize::W32, text) else { return };
    (0..8).for_each(|n| test.s(n, 0));
    test.v(4, |_| 9);
    test.run();
    assert_eq!([4, 5, 6, 7].map(|v| test.vgpr(v, 3)), [0; 4]);
}

#[test]
fn atomics_on_texels() {
    let text = "v_mov_b32 v2, 1\nimage_atomic_add v2, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm glc";
    let Some(mut test) = Test::new("atomics_on_texels", WaveSize::W32, text) else { return };
    let at = test.machine.alloc(4 * 256).unwrap();
    bind(&mut test, at, 20, [4, 4], 0, false);
    test.v(0, |_| 2);
    test.v(1, |_| 1);
    test.run();
    assert_eq!(test.row(2), (0..32).collect::<Vec<_>>());
    assert_eq!(test.machine.read(at + 256 + 8, 4).unwrap(), 32u32.to_le_bytes());
}
