//! The value of each link-time symbol, its side effects, and the errors that tell a caller what to do.

use crate::link_support::*;
use dovetail::error::{Error, ErrorKind, FullCompile};
use dovetail::kinds::{ResourceKind, SpecValue};
use dovetail::link::{EmitGlue, Object, Placement, link, verify};
use dovetail::metadata::document::{Document, get};
use dovetail::metadata::interface::{FetchInterface, ResourceUse, ResultSource, StageKind, UserData};
use dovetail::metadata::note;
use dovetail::state::{BindingKind, PipelineState, PrimitiveKind, SpecializationEntry};
use dovetail::target::{HardwareStage, Stage};
use rmpv::Value;

fn linked(part: &Unlinked, state: &PipelineState) -> Result<Vec<u8>, Error> {
    link(&[&part.build()], state, Placement::Adjacent, &EmitGlue)
}

/// The bytes of a section, located without the linker's own reader.
fn section(elf: &[u8], index: usize) -> &[u8] {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize;
    let header = 64 + 64 * index;
    &elf[word(header + 24)..word(header + 24) + word(header + 32)]
}

fn document(elf: &[u8]) -> Document {
    Document::parse(note::metadata(section(elf, 4)).unwrap()).unwrap()
}

fn number(elf: &[u8], key: &str) -> u64 {
    get(&document(elf).pipeline, key).unwrap().as_u64().unwrap()
}

/// The word of the register with this dword number.
fn register(elf: &[u8], number: u32) -> Option<u64> {
    let doc = document(elf);
    let words = get(&doc.pipeline, ".registers").unwrap().as_map().unwrap();
    words.iter().find(|(k, _)| k.as_u64() == Some(number.into())).and_then(|(_, v)| v.as_u64())
}

/// The literal that a symbol resolves to, and the spill threshold.
fn value(symbol: &str) -> (u32, u64) {
    let mut part = compute().load_symbol(20, symbol);
    if let Some(place) = symbol.strip_prefix("doff_0_2") {
        assert_eq!(place, "_b");
        part = part.load_symbol(21, "dusespill_0_2");
    }
    let mut state = state();
    state.symbols.insert("mine".into(), 77);
    state.raster.primitive = PrimitiveKind::Lines;
    let elf = linked(&part, &state).unwrap();
    assert!(verify(&elf).unwrap().is_ok(), "{:?}", verify(&elf).unwrap().violations);
    let text = section(&elf, 3);
    // After the s_nop and the opcode.
    (u32::from_le_bytes(text[8..12].try_into().unwrap()), number(&elf, ".spill_threshold"))
}

const NO_SPILL: u64 = 0xffff;

#[test]
fn every_symbol_has_its_value_and_its_side_effect() {
    // Root table: pointers of sets 0 and 1, eight dwords of the dynamic buffers, push constants.
    for (symbol, expect, spill) in [
        ("doff_0_0_b", 0, NO_SPILL),
        ("doff_0_1_r", 32, NO_SPILL),
        ("doff_0_1_s", 64, NO_SPILL),
        ("dstride_0_1", 48, NO_SPILL),
        ("doff_0_3_t", 128, NO_SPILL),
        ("dstride_0_3", 16, NO_SPILL),
        ("dusespill_0_0", 0, NO_SPILL),
        ("dusespill_0_2", 1, 2),
        ("doff_0_2_b", 8, 2),
        ("descset_1", 4, 1),
        ("pushconst", 40, 10),
        ("$numsamples", 4, NO_SPILL),
        ("$samplePatternIdx", 32, NO_SPILL),
        ("$deviceIdx", 3, NO_SPILL),
        ("dovetail.primitive", 1, NO_SPILL),
        ("mine", 77, NO_SPILL),
    ] {
        assert_eq!(value(symbol), (expect, spill), "{symbol}");
    }
}

#[test]
fn a_mutable_binding_has_one_offset_a_letter_and_the_stride_of_its_largest() {
    let mut state = state();
    let kinds = [ResourceKind::UniformBuffer, ResourceKind::StorageBuffer, ResourceKind::CombinedImageSampler];
    state.layout.sets[0].bindings[0].kind = BindingKind::Mutable(kinds.into_iter().collect());
    for (symbol, expect) in
        [("doff_0_0_b", 0), ("doff_0_0_r", 0), ("doff_0_0_s", 32), ("dstride_0_0", 48), ("doff_0_3_t", 192)]
    {
        let elf = linked(&compute().load_symbol(20, symbol), &state).unwrap();
        let text = section(&elf, 3);
        assert_eq!(u32::from_le_bytes(text[8..12].try_into().unwrap()), expect, "{symbol}");
    }
    let uses = |kind| {
        let mut part = compute();
        part.interface.resources.push(ResourceUse { set: 0, binding: 0, kind, count: Some(2) });
        linked(&part, &state)
    };
    for kind in [ResourceKind::StorageBuffer, ResourceKind::SampledImage, ResourceKind::Sampler] {
        assert!(uses(kind).is_ok(), "{kind:?}");
    }
    let why = uses(ResourceKind::StorageImage).unwrap_err();
    let says = "the shader has a StorageImage, the layout a mutable descriptor of {UniformBuffer, StorageBuffer, Comb";
    assert!(why.full_compile().is_some() && why.to_string().contains(says), "{why}");
}

#[test]
fn addends_in_place_are_added() {
    let mut part = compute();
    part.code = vec![s_mov_literal(9), 0xffff_fff0, S_ENDPGM];
    part.relocations.push((4, ABS32_LO, Against::Open("doff_0_1_s".into())));
    let elf = linked(&part, &state()).unwrap();
    assert_eq!(section(&elf, 3)[4..8], 48u32.to_le_bytes());
}

const SMEM_OFFSET: u32 = 0xe0;
const CHOICE: u32 = 0xe1;

/// `s_load_dwordx8 s[8:15], s[0:1], 0x10`, to which the descriptor's offset is added.
#[test]
fn a_scalar_load_has_the_offset_of_its_descriptor() {
    let mut part = compute();
    part.code = vec![0xf40c_0200, 0xfa00_0010, S_ENDPGM];
    part.relocations.push((4, SMEM_OFFSET, Against::Open("doff_0_1_r".into())));
    let elf = linked(&part, &state()).unwrap();
    assert_eq!(section(&elf, 3)[4..8], 0xfa00_0030u32.to_le_bytes());
    let placed_after = |count| {
        let mut state = state();
        state.layout.sets[0].bindings[0].count = count;
        linked(&part, &state)
    };
    // With the addend: the last byte in reach, and the first one out of reach.
    assert_eq!(section(&placed_after(0xfffe).unwrap(), 3)[4..8], 0xfa0f_fff0u32.to_le_bytes());
    let why = placed_after(0xffff).unwrap_err();
    assert!(matches!(why.full_compile(), Some(FullCompile::ResourceLayout { set: 0, binding: 1, .. })), "{why}");
    assert!(why.to_string().contains("byte 0xffff0 of its table"), "{why}");
}

/// `s_cselect_b32 s7, s3, s2`: the root table's pointer if the buffer's descriptor is there, else the set's.
#[test]
fn a_choice_is_a_move_of_what_the_layout_says() {
    let chosen = |word: u32, symbol: &str| {
        let mut part = compute();
        part.code = vec![word, S_ENDPGM];
        part.relocations.push((0, CHOICE, Against::Open(symbol.into())));
        let elf = linked(&part, &state())?;
        Ok::<_, Error>(u32::from_le_bytes(section(&elf, 3)[..4].try_into().unwrap()))
    };
    assert_eq!(chosen(0x8507_0203, "dusespill_0_2").unwrap(), 0xbe87_0303);
    assert_eq!(chosen(0x8507_0203, "dusespill_0_0").unwrap(), 0xbe87_0302);
    let why = chosen(S_ENDPGM, "dusespill_0_0").unwrap_err();
    assert!(matches!(why.kind(), ErrorKind::Malformed(_)), "{why}");
}

#[test]
fn user_data_become_pal_numbers() {
    let elf = linked(&compute(), &state()).unwrap();
    let user: Vec<Option<u64>> = (0..8).map(|n| register(&elf, 0x2E40 + n)).collect();
    let expect = [Some(0x1000_0000), None, Some(0x1000_0006), None, Some(0), Some(11), Some(0x1000_0002), None];
    assert_eq!(user, expect);
    assert_eq!(number(&elf, ".user_data_limit"), 12);
    // USER_SGPR 7, the three ids and the group size, TIDIG_COMP_CNT 1.
    assert_eq!(register(&elf, 0x2E13), Some(7 << 1 | 0b1111 << 7 | 1 << 11));
    assert_eq!(register(&elf, 0x2E07), Some(8));
    // wave32: (10 - 1) / 8 and (12 - 1) / 8.
    assert_eq!(register(&elf, 0x2E12), Some(0x602C_0000 | 1 | 1 << 6));
}

#[test]
fn spilled_pipelines_keep_the_whole_root_table() {
    let elf = linked(&compute().load_symbol(20, "pushconst"), &state()).unwrap();
    assert_eq!(number(&elf, ".user_data_limit"), 14);
    let mut known = compute();
    known.interface.spill_threshold = Some(5);
    assert_eq!(number(&linked(&known, &state()).unwrap(), ".spill_threshold"), 5);
}

fn full_compile(part: &Unlinked, state: &PipelineState) -> FullCompile {
    let error = linked(part, state).unwrap_err();
    error.full_compile().unwrap_or_else(|| panic!("{error}")).clone()
}

fn layout_reason(part: &Unlinked) -> (u32, u32) {
    match full_compile(part, &state()) {
        FullCompile::ResourceLayout { set, binding, .. } => (set, binding),
        other => panic!("{other}"),
    }
}

fn malformed(part: &Unlinked, state: &PipelineState) -> String {
    let error = linked(part, state).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Malformed(_)), "{error}");
    error.to_string()
}

#[test]
fn layouts_that_the_code_cannot_serve_need_a_full_compile() {
    // Another kind of descriptor.
    assert_eq!(layout_reason(&compute().load_symbol(20, "doff_0_0_r")), (0, 0));
    assert_eq!(layout_reason(&compute().load_symbol(20, "doff_0_3_s")), (0, 3));
    // A root buffer whose descriptor the code reads from the set's table.
    assert_eq!(layout_reason(&compute().load_symbol(20, "doff_0_2_b")), (0, 2));
    let uses = |binding, kind| {
        let mut part = compute();
        part.interface.resources.push(ResourceUse { set: 0, binding, kind, count: Some(1) });
        part
    };
    assert_eq!(layout_reason(&uses(0, ResourceKind::StorageBuffer)), (0, 0));
    assert_eq!(layout_reason(&uses(3, ResourceKind::SampledImage)), (0, 3));
    // Half of a combined descriptor is allowed.
    assert!(linked(&uses(1, ResourceKind::Sampler), &state()).is_ok());
    let mut many = uses(0, ResourceKind::UniformBuffer);
    many.interface.resources[0].count = Some(3);
    assert!(malformed(&many, &state()).contains("3 descriptors, the layout 2"));
}

#[test]
fn other_specialization_values_need_a_full_compile() {
    let mut part = compute();
    let made_for = |id, value, default| SpecValue { id, value, default };
    part.interface.specialization = vec![made_for(4, 10, 10), made_for(9, 1, 1)];
    let entry = |stage, id, value| SpecializationEntry { stage, id, value };
    let mut state = state();
    for (entries, ok) in [
        (vec![], true),
        (vec![entry(None, 4, 10), entry(None, 5, 3)], true),
        (vec![entry(None, 4, 11)], false),
        (vec![entry(None, 4, 11), entry(Some(Stage::Compute), 4, 10)], true),
        (vec![entry(Some(Stage::Fragment), 4, 11)], true),
    ] {
        state.specialization = entries.clone();
        match linked(&part, &state) {
            Ok(_) => assert!(ok, "{entries:?}"),
            Err(e) => assert!(!ok && e.full_compile() == Some(&FullCompile::Specialization { id: 4 }), "{e}"),
        }
    }
    // Such a value may shape what the part asks of the layout: its error comes first.
    let mut longer = compute();
    longer.interface.specialization = vec![made_for(4, 3, 1)];
    let (binding, kind, count) = (0, ResourceKind::UniformBuffer, Some(3));
    longer.interface.resources.push(ResourceUse { set: 0, binding, kind, count });
    state.specialization = vec![entry(None, 4, 1)];
    let error = linked(&longer, &state).unwrap_err();
    assert_eq!(error.full_compile(), Some(&FullCompile::Specialization { id: 4 }), "{error}");
    // A state without a value requests the default.
    part.interface.specialization = vec![made_for(4, 10, 1)];
    state.specialization = vec![];
    assert!(linked(&part, &state).is_err());
    state.specialization = vec![entry(None, 4, 10)];
    assert!(linked(&part, &state).is_ok());
}

#[test]
fn missing_things_are_named_with_stage_and_symbol() {
    for (symbol, says) in
        [("doff_5_0_b", "no binding 0 in set 5"), ("descset_7", "no set 7"), ("theirs", "gives `theirs` no value")]
    {
        let text = malformed(&compute().load_symbol(20, symbol), &state());
        assert!(text.contains(says) && text.contains("compute stage `main`") && text.contains(symbol), "{text}");
    }
    for symbol in ["doff_0_1_f", "$shadowenabled", "$shadowdesctable"] {
        let mut given = state();
        given.symbols.insert(symbol.into(), 0);
        let error = linked(&compute().load_symbol(20, symbol), &given).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported { feature, .. } if feature == "shadow descriptor table"));
        assert!(error.to_string().contains(symbol), "{error}");
    }
    let mut odd = state();
    odd.color.samples = 3;
    assert!(malformed(&compute().load_symbol(20, "$numsamples"), &odd).contains("3 samples"));
    let mut nothing = state();
    nothing.layout.push_constant_bytes = 0;
    let mut part = compute();
    part.interface.user_data[5] = UserData::Root(3);
    assert!(malformed(&part.clone().load_symbol(20, "pushconst"), &nothing).contains("no push constants"));
    part.interface.push_constant_bytes = 8;
    assert!(malformed(&part, &nothing).contains("8 bytes of push constants"));
    part = compute();
    part.interface.user_data.retain(|u| *u != UserData::SpillTable);
    part.interface.entry_sgprs -= 1;
    assert!(malformed(&part.load_symbol(20, "descset_1"), &state()).contains("spill table"));
}

#[test]
fn another_gpu_needs_a_full_compile() {
    let mut part = compute();
    part.flags = 0x41;
    assert!(matches!(full_compile(&part, &state()), FullCompile::Mismatch { .. }));
}

#[test]
fn per_sample_shading_of_a_body_for_pixels_needs_a_full_compile() {
    let mut state = state();
    state.color.sample_shading = true;
    let (vs, mut ps) = (vertex().build(), fragment());
    let StageKind::Fragment(f) = &mut ps.interface.kind else { unreachable!() };
    // Also without smooth inputs: the sample mask differs, and barycentric coordinates are not inputs.
    (f.per_pixel, f.inputs) = (true, vec![]);
    let error = link(&[&vs, &ps.build()], &state, Placement::Adjacent, &EmitGlue).unwrap_err();
    assert!(matches!(error.full_compile(), Some(FullCompile::State { .. })), "{error}");
    let StageKind::Fragment(f) = &mut ps.interface.kind else { unreachable!() };
    (f.per_pixel, f.per_sample) = (false, true);
    let elf = link(&[&vs, &ps.build()], &state, Placement::Adjacent, &EmitGlue).unwrap();
    // PA_SC_MODE_CNTL_1.PS_ITER_SAMPLE and POS_FLOAT_LOCATION.
    assert_eq!(register(&elf, 0xA293), Some(0x0603_018C));
    assert_eq!(register(&elf, 0xA1B8), Some(1 << 24 | 2 << 16));
}

#[test]
fn views_need_a_body_that_exports_them() {
    let mut state = state();
    state.view_mask = 0b101;
    let (mut vs, ps) = (vertex(), fragment().build());
    let error = link(&[&vs.build(), &ps], &state, Placement::Adjacent, &EmitGlue).unwrap_err();
    let Some(FullCompile::State { item }) = error.full_compile() else { panic!("{error}") };
    assert_eq!(item, "view_mask");
    let StageKind::Vertex(v) = &mut vs.interface.kind else { unreachable!() };
    v.pre_rasterization.multiview = true;
    (v.pre_rasterization.positions.layer, v.pre_rasterization.positions.count) = (true, 2);
    let elf = link(&[&vs.build(), &ps], &state, Placement::Adjacent, &EmitGlue).unwrap();
    // USE_VTX_RENDER_TARGET_INDX and the enable bit of its vector.
    assert_eq!(register(&elf, 0xA207), Some(1 << 18 | 1 << 21 | 1 << 24));
    assert_eq!(register(&elf, 0xA1C3), Some(0x44));
}

#[test]
fn rates_and_coverage_have_their_registers() {
    let (mut vs, mut ps) = (vertex(), fragment());
    let StageKind::Vertex(v) = &mut vs.interface.kind else { unreachable!() };
    (v.pre_rasterization.positions.shading_rate, v.pre_rasterization.positions.count) = (true, 2);
    let StageKind::Fragment(f) = &mut ps.interface.kind else { unreachable!() };
    (f.fully_covered, f.early_fragment_tests, f.post_depth_coverage) = (true, true, true);
    let elf = link(&[&vs.build(), &ps.build()], &state(), Placement::Adjacent, &EmitGlue).unwrap();
    assert_eq!(register(&elf, 0xA207), Some(1 << 21 | 1 << 24 | 1 << 28));
    assert_eq!(register(&elf, 0xA2F8), Some(1 << 26));
    let depth = register(&elf, 0xA203).unwrap();
    assert_eq!(depth >> 23 & 1, 1);
    let StageKind::Fragment(f) = &mut ps.interface.kind else { unreachable!() };
    (f.fully_covered, f.post_depth_coverage) = (false, false);
    let elf = link(&[&vs.build(), &ps.build()], &state(), Placement::Adjacent, &EmitGlue).unwrap();
    assert_eq!(register(&elf, 0xA2F8), Some(0));
    assert_eq!(register(&elf, 0xA203), Some(depth & !(1 << 23)));
}

#[test]
fn graphics_registers_follow_from_interfaces_and_state() {
    let mut state = state();
    state.raster.discard = true;
    state.raster.clip_plane_mask = 5;
    let mut vs = vertex();
    let StageKind::Vertex(v) = &mut vs.interface.kind else { unreachable!() };
    v.pre_rasterization.positions.count = 3;
    v.pre_rasterization.positions.point_size = true;
    v.pre_rasterization.positions.clip_distances = 2;
    v.pre_rasterization.positions.cull_distances = 1;
    let mut ps = fragment();
    ps.interface.writes_memory = true;
    let StageKind::Fragment(f) = &mut ps.interface.kind else { unreachable!() };
    f.kills = true;
    f.depth = Some(ResultSource::Vgpr(4));
    f.writes_depth = true;
    let elf = link(&[&vs.build(), &ps.build()], &state, Placement::Adjacent, &EmitGlue).unwrap();
    for (number, expect, name) in [
        (0xA207, 0b11 | 0b111 << 8 | 1 << 16 | 1 << 21 | 1 << 22 | 1 << 24, "PA_CL_VS_OUT_CNTL"),
        (0xA1C3, 0x444, "SPI_SHADER_POS_FORMAT"),
        (0xA204, 5 | 1 << 22 | 1 << 24, "PA_CL_CLIP_CNTL"),
        (0xA203, 1 | 1 << 6 | 1 << 9 | 1 << 11, "DB_SHADER_CONTROL: late Z"),
        (0xA1C4, 1, "SPI_SHADER_Z_FORMAT"),
        (0xA1C5, 4, "SPI_SHADER_COL_FORMAT"),
        (0xA08F, 15, "CB_SHADER_MASK"),
        (0xA206, 0x43F, "PA_CL_VTE_CNTL"),
        (0xA2F9, 0x2D, "PA_SU_VTX_CNTL"),
        (0xA293, 0x0602_018C, "PA_SC_MODE_CNTL_1"),
        (0xA1B1, 0, "SPI_VS_OUT_CONFIG: one slot"),
        (0xA191, 0, "SPI_PS_INPUT_CNTL_0"),
        (0xA1B6, 1, "SPI_PS_IN_CONTROL"),
        // VS_W32_EN and two primitive groups.
        (0xA2D5, 1 << 23 | 2 << 15, "VGT_SHADER_STAGES_EN"),
        // The prolog needs the instance id; the seven user SGPRs are fewer than 32.
        (0x2C4B, 7 << 1, "SPI_SHADER_PGM_RSRC2_VS"),
    ] {
        assert_eq!(register(&elf, number), Some(expect), "{name}");
    }
    assert_eq!(register(&elf, 0x2C4A).unwrap() >> 24 & 3, 3, "VGPR_COMP_CNT");
    assert!(verify(&elf).unwrap().is_ok(), "{:?}", verify(&elf).unwrap().violations);
}

fn refused(change: impl FnOnce(&mut Unlinked)) -> String {
    let mut part = compute();
    change(&mut part);
    Object::parse(&part.build()).unwrap_err().to_string()
}

#[test]
fn broken_unlinked_elfs_are_refused_by_name() {
    let open = |name: &str| Against::Open(name.into());
    assert!(refused(|p| p.symbol = "main".into()).contains("`main`, not `_amdgpu_cs_main`"));
    assert!(refused(|p| p.relocations.push((2, ABS32_LO, open("dovetail.next")))).contains("a joint inside"));
    assert!(refused(|p| p.relocations.push((6, ABS32_LO, open("mine")))).contains("outside its 0x8 bytes"));
    assert!(refused(|p| p.relocations.push((0, 7, open("mine")))).contains("relocation kind 7"));
    assert!(refused(|p| p.relocations.push((0, REL16, open("mine")))).contains("takes R_AMDGPU_ABS32_LO"));
    assert!(refused(|p| p.data.push((".rodata".into(), 3, vec![0]))).contains("alignment 3"));
    assert!(refused(|p| p.registers.push((0xA08F, 15))).contains("CB_SHADER_MASK is the link's"));
    assert!(refused(|p| p.pipeline.push((".colour".into(), Value::from(1)))).contains("unknown key"));
    assert!(refused(|p| p.interface.epilog = true).contains("no s_branch follows"));
    assert!(refused(|p| p.code.clear()).contains("body at 0x0 with 0x0 bytes"));
    let expectations: [fn(&mut FetchInterface); 2] = [|f| f.awaits_inputs = true, |f| f.takes_address_high = true];
    for expect in expectations {
        let mut part = vertex();
        expect(part.interface.kind.fetch_mut().expect("a vertex part"));
        assert!(Object::parse(&part.build()).is_ok());
        part.interface.prolog = false;
        part.symbol = HardwareStage::Vs.entry_symbol().into();
        assert!(Object::parse(&part.build()).unwrap_err().to_string().contains("a body without a prolog expects"));
    }
    let mut joint = fragment();
    joint.joint = false;
    joint.code.extend([S_ENDPGM]);
    let mut bytes = joint.build();
    assert!(Object::parse(&bytes).unwrap_err().to_string().contains("no s_branch follows"));
    bytes.truncate(300);
    assert!(Object::parse(&bytes).unwrap_err().to_string().contains("malformed input: ELF"));
}

#[test]
fn prepared_objects_say_what_they_leave_open() {
    let part = compute().load_symbol(20, "pushconst").load_symbol(21, "descset_0").load_symbol(22, "pushconst");
    let object = Object::parse(&part.build()).unwrap();
    assert_eq!(object.open_symbols(), ["descset_0", "pushconst"]);
    assert_eq!(object.stage(), Stage::Compute);
}
