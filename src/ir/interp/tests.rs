//! Tests for which lavapipe cannot be used: large subgroups, rotation, limits, and unsupported operations.

mod convergence;

use super::shadow::Shadow;
use super::texture::Texture;
use super::{Options, ShadowedMemory, World, dispatch};
use dovetail_base::error::Result;
use dovetail_ir::ResourceKind;
use dovetail_ir::parse::parse;

/// Runs one workgroup of 64 invocations that store their `v9`, and returns the words. `v0` is the lane, `v1` the local
/// index.
fn run(body: &str, lanes: u32) -> Result<Vec<u32>> {
    let words = ran(body, Options { subgroup_size: lanes, limit: 10_000, ..Options::default() })?;
    Ok(words.bytes().as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}

/// Runs such a workgroup with any options; returns the memory.
fn ran(body: &str, options: Options) -> Result<ShadowedMemory> {
    let text = format!(
        "shader upper compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\nres0 \"out\" set0 binding0 storage_buffer count1 written\n\
         res1 \"levels\" set0 binding1 sampled_image count1\nblock0:\n\
         v0: b32 = load_builtin[subgroup_local_invocation_id component0]\n\
         v1: b32 = load_builtin[local_invocation_index component0]\n\
         {body}\n\
         v90: b32 = const 0x0\n v91: b32 = const 0x4\n v92: b32 = imul v1, v91\n\
         v93: b32x4 = descriptor[res0 buffer] v90\n\
         buffer_store[align4] v93, v92, v9\n return\n"
    );
    let shader = parse(&text)?;
    let mut world = World::default();
    world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0; 256]));
    let levels = [4, 1].map(|texels| vec![([0; 4], [Shadow::NONE; 4]); texels]).to_vec();
    let image = Texture { extent: [2, 2, 1], levels, ..Texture::default() };
    world.textures.insert((0, 1, 0), image);
    dispatch(&shader, &mut world, [1; 3], options)?;
    Ok(world.buffers.remove(&(0, 0, 0)).unwrap_or_default())
}

#[test]
fn subgroups_have_the_size_that_is_asked_for() {
    for lanes in [8, 32, 64] {
        let sums = run("v9: b32 = subgroup_reduce[iadd cluster0] v1", lanes).unwrap();
        for (i, sum) in sums.iter().enumerate() {
            let first = i as u32 / lanes * lanes;
            assert_eq!(*sum, (first..first + lanes).sum::<u32>(), "lane {i} of {lanes}");
        }
        let masks =
            "v2: b32 = const 0x20\n v3: b1 = ult v1, v2\n v4: b64 = subgroup_ballot v3\n v9: b32 = bit_count v4";
        assert_eq!(run(masks, lanes).unwrap()[0], lanes.min(32));
    }
}

#[test]
fn the_last_step_of_a_coarse_function_may_err_by_more() {
    let options = Options { shadow: true, ..Options::default() };
    // 1.0, and 4,000 ulp more.
    let other: Vec<u8> = (0..64).flat_map(|_| (0x3f80_0000 + 4000u32).to_le_bytes()).collect();
    let one = "v2: b32 = const 0x3f800000\n v9: b32 = fcopysign v2, v2";
    let wrong = |body: &str| ran(body, options).map(|memory| memory.judge(&other, 0.0).wrong.len());
    assert_eq!(wrong(&format!("{one} !coarse")).ok(), Some(0));
    assert_eq!(wrong(one).ok(), Some(64));
}

#[test]
fn the_size_of_a_level_that_an_image_lacks_is_uncertain() {
    let options = Options { shadow: true, ..Options::default() };
    let width = |level: u32| {
        let body = format!(
            "v2: b32 = const 0x0\n v3: b32 = const {level:#x}\n v4: b32x8 = descriptor[res1 image] v2\n\
             v5: b32x4 = image[query_size 2d lod_explicit] v4, v3\n v9: b32 = extract[0] v5"
        );
        let memory = ran(&body, options).expect("a query");
        (memory.bytes()[0], memory.judge(&[9; 256], 0.0).wrong.len())
    };
    assert_eq!([0, 1, 2].map(width), [(2, 64), (1, 64), (1, 0)]);
}

#[test]
fn rotation_stays_in_its_cluster() {
    let rotated = run("v2: b32 = const 0x3\n v9: b32 = subgroup_rotate[cluster4] v1, v2", 32).unwrap();
    assert_eq!(rotated[..8], [3, 0, 1, 2, 7, 4, 5, 6]);
}

#[test]
fn lanes_that_part_meet_again() {
    // Odd lanes run three iterations, even ones one; after the loop all are active.
    let body = "v2: b32 = const 0x1\n v3: b32 = iand v1, v2\n v4: b32 = iadd v3, v3\n jump block1(v4)\n\
        block1(v5: b32): merge block3 continue block2\n\
         v6: b32 = const 0x0\n v7: b1 = ieq v5, v6\n branch v7, block3, block2\n\
        block2:\n v8: b32 = isub v5, v2\n jump block1(v8)\n\
        block3:\n v10: b64 = subgroup_ballot v7\n v9: b32 = bit_count v10";
    assert!(run(body, 32).unwrap().iter().all(|n| *n == 32));
}

#[test]
fn what_an_uncertain_branch_leaves_unwritten_may_be_written() {
    // The smallest denormal is at most 0 if it is flushed; the store is after that comparison.
    let left = |denormals: &str| {
        let text = format!(
            "shader upper compute \"t\"\nmodes 1 1 1 any any {denormals} any rte rte rte\nres0 \"out\" set0 binding0 storage_buffer count1 written\n\
             block0: merge block2\n v0: b32 = const 0x0\n v1: b32 = const 0x1\n v2: b1 = fole v1, v0\n branch v2, block1, block2\n\
             block1:\n v3: b32x4 = descriptor[res0 buffer] v0\n buffer_store[align4] v3, v0, v1\n jump block2\n\
             block2:\n return\n"
        );
        let mut world = World::default();
        world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0; 4]));
        dispatch(&parse(&text).unwrap(), &mut world, [1; 3], Options { shadow: true, ..Options::default() }).unwrap();
        let mut memory = world.buffers.remove(&(0, 0, 0)).unwrap();
        if world.doubtful {
            memory.open_unwritten();
        }
        memory.judge(&[1, 0, 0, 0], 0.0).wrong.len()
    };
    assert_eq!((left("any"), left("preserve")), (0, 1));
}

#[test]
fn endless_loops_reach_the_limit() {
    let error =
        run("jump block1\nblock1: merge block2 continue block1\n jump block1\nblock2:\n v9: b32 = const 0x1", 8);
    assert!(error.unwrap_err().to_string().contains("10000 instructions"));
}

#[test]
fn what_is_not_there_is_named() {
    let error = run("v2: b64 = read_clock[device]\n v9: b32 = trunc v2", 8).unwrap_err().to_string();
    assert!(error.contains("ReadClock"), "{error}");
}

#[test]
fn addresses_lead_into_buffers_and_nowhere_else() {
    // Doubles the value at an address in the push constants, then increments and stores it.
    let text = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\nblock0:\n\
        v0: b32 = const 0x0\n v1: b64 = push_constant[align8] v0\n v2: b32 = global_load[align4] v1\n\
        v3: b32 = iadd v2, v2\n v4: b64 = const 0x8\n v5: b64 = iadd v1, v4\n global_store[align4] v5, v3\n\
        v6: b32 = const 0x3\n v7: b32 = global_atomic[iadd] v1, v6\n return\n";
    let shader = parse(text).unwrap();
    let left = |address: u64| {
        let mut world =
            World { push_constants: ShadowedMemory::new(address.to_le_bytes().to_vec()), ..Default::default() };
        for (n, base) in [(0, 0x1000), (1, 0x2000)] {
            world.buffers.insert((0, n, 0), ShadowedMemory::new([[7, 0, 0, 0]; 4].concat()));
            world.addresses.insert(base, (0, n, 0));
        }
        world.watch = Some(super::WatchedByte { place: (0, 1, 0), byte: 12, writer: None });
        dispatch(&shader, &mut world, [1; 3], Options { shadow: true, ..Options::default() })?;
        let watched = world.watch.is_some_and(|watch| watch.writer.is_some());
        let bytes = |n| world.buffers[&(0, n, 0)].bytes().iter().step_by(4).copied().collect::<Vec<u8>>();
        Ok::<_, dovetail_base::error::Error>((bytes(0), bytes(1), watched))
    };
    assert_eq!(left(0x1000).unwrap(), (vec![10, 7, 14, 7], vec![7; 4], false));
    assert_eq!(left(0x2004).unwrap(), (vec![7; 4], vec![7, 10, 7, 14], true));
    for (address, where_) in [(0xffc, "0xffc"), (0x1008, "0x1010"), (0x100e, "0x100e"), (0, "0x0"), (0x3000, "0x3000")]
    {
        let why = left(address).unwrap_err().to_string();
        assert!(why.contains(&format!("4 bytes at {where_} are in no buffer")), "{why}");
    }
}

#[test]
fn a_descriptor_of_another_kind_gives_no_answer() {
    let text = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\nres0 \"out\" set0 binding0 storage_buffer count1 written\nblock0:\n\
         v0: b32 = const 0x0\n v1: b32x4 = descriptor[res0 buffer] v0\n buffer_store[align4] v1, v0, v0\n return\n";
    let shader = parse(text).unwrap();
    let with = |kind| {
        let mut world = World::default();
        world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0; 256]));
        world.kinds.insert((0, 0, 0), kind);
        dispatch(&shader, &mut world, [1; 3], Options::default())
    };
    assert!(with(ResourceKind::StorageBuffer).is_ok());
    let why = with(ResourceKind::UniformBuffer).unwrap_err().to_string();
    assert!(why.contains("set 0 binding 0 element 0") && why.contains("a UniformBuffer is bound"), "{why}");
}

#[test]
fn what_the_shader_leaves_undefined_is_not_judged() {
    let options = Options { shadow: true, ..Options::default() };
    let verdict = |body: &str| ran(body, options).map(|memory| memory.judge(&[7; 256], 0.0));
    // As it is, and through conversions.
    for body in ["v9: b32 = undef", "v2: b16 = undef\n v3: b16 = fneg v2\n v9: b32 = fconv v3"] {
        let verdict = verdict(body).unwrap();
        assert_eq!((verdict.written, verdict.uncertain, verdict.wrong.len()), (0, 0, 0), "{body}");
    }
    // What is computed from it and from something else may be anything, but is a result.
    let verdict = verdict("v2: b32 = undef\n v9: b32 = iadd v2, v1").unwrap();
    assert_eq!((verdict.written, verdict.uncertain), (64, 64));
}

#[test]
fn halves_keep_their_bounds_in_a_word() {
    let options = Options { shadow: true, ..Options::default() };
    // A third is not exact in 16 bits.
    let body = "v2: b32 = const 0x3eaaaaab\n v3: b16 = fconv v2\n v4: b16x2 = compose v3, v3\n v5: b32 = bitcast v4\n\
        v6: b16x2 = bitcast v5\n v7: b16 = extract[1] v6\n v9: b32 = fconv v7";
    let memory = ran(body, options).unwrap();
    let judged = |x: f32| memory.judge(&x.to_le_bytes().repeat(64), 0.0);
    assert_eq!((judged(0.33334).uncertain, judged(0.33334).wrong.len(), judged(0.335).wrong.len()), (0, 0, 64));
}

#[test]
fn races_are_found_unless_something_orders_them() {
    // v0: the local index; v2: the place of a word of each invocation, v3: of its neighbour; v4: word 0.
    let found = |body: &str, [size, groups]: [u32; 2]| {
        let text = format!(
            "shader upper compute \"t\"\nmodes {size} 1 1 any any any any rte rte rte\nshared 64\n\
             res0 \"out\" set0 binding0 storage_buffer count1 written\nblock0:\n\
             v0: b32 = load_builtin[local_invocation_index component0]\n v1: b32 = const 0x2\n v2: b32 = shl v0, v1\n\
             v5: b32 = const 0x4\n v3: b32 = ixor v2, v5\n v4: b32 = const 0x0\n v6: b32x4 = descriptor[res0 buffer] v4\n\
             {body}\n return\n"
        );
        let shader = parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let mut world = World { races: Some(super::Races::default()), ..World::default() };
        world.buffers.insert((0, 0, 0), ShadowedMemory::new(vec![0; 64]));
        dispatch(&shader, &mut world, [groups, 1, 1], Options::default()).unwrap();
        world.races.unwrap().found.map(|race| (race.place, race.byte, race.writes))
    };
    let buffer = Some((0, 0, 0));
    let store = "buffer_store[align4] v6, v2, v0";
    let load = "v9: b32 = buffer_load[storage align4] v6, v3";
    let barrier = "barrier[workgroup workgroup acq_rel buffer shared]";
    let next = "v8: b32 = iadd v9, v5\n buffer_store[align4] v6, v3, v8";
    let own = "shared_store[align4] v2, v0";
    let others = "v9: b32 = shared_load[align4] v3";
    for (body, sizes, wanted) in [
        (store.to_owned(), [8, 1], None),
        (format!("{store}\n {load}"), [8, 1], Some((buffer, 4, [true, false]))),
        (format!("{load}\n {store}"), [8, 1], Some((buffer, 4, [false, true]))),
        (format!("{store}\n {barrier}\n {load}"), [8, 1], None),
        ("buffer_store[align4] v6, v4, v0".to_owned(), [8, 1], Some((buffer, 0, [true, true]))),
        // All write one value.
        ("buffer_store[align4] v6, v4, v5".to_owned(), [8, 1], None),
        ("v9: b32 = buffer_atomic[iadd] v6, v4, v5".to_owned(), [8, 2], None),
        // A barrier orders one workgroup only; what a fence beyond it orders is not known.
        (format!("{load}\n {barrier}\n {next}"), [8, 1], None),
        (format!("{load}\n {barrier}\n {next}"), [8, 2], Some((buffer, 4, [true, false]))),
        (format!("{load}\n fence[device acq_rel buffer]\n {next}"), [8, 2], None),
        (format!("{own}\n {others}"), [8, 1], Some((None, 4, [true, false]))),
        (format!("{own}\n {barrier}\n {others}"), [8, 1], None),
        // Each workgroup has its own memory.
        (format!("{own}\n {barrier}\n shared_store[align4] v2, v5"), [8, 2], None),
    ] {
        assert_eq!(found(&body, sizes), wanted, "{body}");
    }
}
