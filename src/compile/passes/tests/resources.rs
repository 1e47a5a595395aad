//! Descriptors and push constants.

use super::*;

#[test]
fn an_unknown_layout_gives_relocations() {
    let c = unknown(Stage::Compute, |b| {
        let image = buffer(b, 1, 2, ResourceKind::CombinedImageSampler);
        let (zero, two) = (b.c32(0), b.c32(2));
        for (part, index) in [(DescriptorPart::Image, zero), (DescriptorPart::Sampler, two)] {
            let d = descriptor(b, image, part, index, false);
            keep(b, d);
        }
    });
    assert_eq!(
        c.kept_text(),
        [
            "table(DescriptorSet(1):pc, doff_1_2_r)",
            "table(DescriptorSet(1):pc, iadd(doff_1_2_s, imul(2, dstride_1_2)))",
        ]
    );
    assert_eq!(c.shader.ty(c.kept()[0]), Type::DESC8);
    assert_eq!(c.interface.user_data[2..], [UserData::DescriptorSet(1)]);
    assert_eq!(c.interface.resources.len(), 1);
    assert_eq!(c.interface.spill_threshold, None);
}

#[test]
fn a_buffer_of_an_unknown_layout_may_stand_in_the_root_table() {
    let c = unknown(Stage::Compute, |b| {
        let r = buffer(b, 0, 7, ResourceKind::StorageBuffer);
        let zero = b.c32(0);
        let d = descriptor(b, r, DescriptorPart::Buffer, zero, false);
        keep(b, d);
        let size = b.value(Op::BufferSize, &[d], Type::B32);
        keep(b, size);
    });
    let desc = "table(select(ine(dusespill_0_7, 0), SpillTable, DescriptorSet(0)):pc, doff_0_7_b)";
    assert_eq!(c.kept_text(), [desc.to_owned(), format!("{desc}[2]")]);
}

#[test]
fn an_index_is_made_uniform_unless_the_shader_says_otherwise() {
    let index = |non_uniform| {
        unknown(Stage::Compute, move |b| {
            let r = buffer(b, 0, 0, ResourceKind::SampledImage);
            let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
            let d = descriptor(b, r, DescriptorPart::Image, i, non_uniform);
            keep(b, d);
        })
        .kept_text()
        .remove(0)
    };
    assert_eq!(index(true), "table(DescriptorSet(0):pc, iadd(doff_0_0_r, imul(local_x, dstride_0_0)))");
    assert_eq!(index(false), "table(DescriptorSet(0):pc, iadd(doff_0_0_r, imul(readfirstlane(local_x), dstride_0_0)))");
}

#[test]
fn a_set_without_a_register_is_found_through_the_spill_table() {
    let c = unknown(Stage::Compute, |b| {
        for set in 0..15 {
            let r = buffer(b, set, 0, ResourceKind::SampledImage);
            let zero = b.c32(0);
            let d = descriptor(b, r, DescriptorPart::Image, zero, false);
            keep(b, d);
        }
    });
    let texts = c.kept_text();
    // Fourteen would fit, but the spill table for the others takes a register.
    assert_eq!(texts[12], "table(DescriptorSet(12):pc, doff_12_0_r)");
    assert_eq!(texts[13], "table(table(SpillTable:pc, descset_13):pc, doff_13_0_r)");
}

fn layout() -> KnownState {
    let binding = |binding, kind, dynamic| BindingLayout { binding, kind, count: 4, dynamic, offset: None };
    let bindings = vec![
        binding(0, ResourceKind::StorageBuffer, false),
        binding(1, ResourceKind::CombinedImageSampler, false),
        binding(2, ResourceKind::UniformBuffer, true),
    ];
    let layout = ResourceLayout {
        sets: vec![SetLayout { set: 0, root: Some(3), bindings }],
        push_constant_bytes: 16,
        push_constant_root: None,
    };
    KnownState { layout: Known::Known(layout), ..KnownState::default() }
}

#[test]
fn a_known_layout_gives_constants() {
    let c = case(Stage::Compute, layout(), |b| {
        let buf = buffer(b, 0, 0, ResourceKind::StorageBuffer);
        let tex = buffer(b, 0, 1, ResourceKind::CombinedImageSampler);
        let root = buffer(b, 0, 2, ResourceKind::UniformBuffer);
        let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
        let one = b.c32(1);
        for (r, part, index) in
            [(buf, DescriptorPart::Buffer, one), (tex, DescriptorPart::Sampler, i), (root, DescriptorPart::Buffer, one)]
        {
            let d = descriptor(b, r, part, index, true);
            keep(b, d);
        }
    });
    assert_eq!(
        c.kept_text(),
        [
            "table(DescriptorSet(0):pc, 16)",
            "table(DescriptorSet(0):pc, iadd(imul(local_x, 48), 96))",
            "table(SpillTable:pc, 32)",
        ]
    );
    assert_eq!(c.interface.user_data[2..], [UserData::Root(3), UserData::SpillTable]);
    assert_eq!(c.interface.spill_threshold, Some(4));
    assert!(c.shader.symbols.is_empty());
}

#[test]
fn a_binding_that_the_known_layout_has_not_is_the_layouts_fault() {
    for (binding, part) in [(9, DescriptorPart::Buffer), (0, DescriptorPart::Image)] {
        let e = try_case(Stage::Compute, layout(), |b| {
            let r = buffer(b, 0, binding, ResourceKind::StorageBuffer);
            let zero = b.c32(0);
            let d = descriptor(b, r, part, zero, false);
            keep(b, d);
        });
        let e = e.err().unwrap();
        assert_eq!(e.exit_code(), 2, "{e}");
        assert!(e.to_string().contains(&format!("set 0 binding {binding}")), "{e}");
    }
}

#[test]
fn push_constants_come_in_registers_where_the_offset_is_constant() {
    let build = |b: &mut Builder<'_>| {
        let (four, six) = (b.c32(4), b.c32(6));
        push(b, four, Type::B32);
        push(b, six, Type::B16);
        push(b, four, Type::B64);
        let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
        push(b, i, Type::B32);
    };
    let c = unknown(Stage::Compute, build);
    let mut want = [
        "PushConstant(1)",
        "trunc(lshr(PushConstant(1), 16))",
        "PushConstant(1):PushConstant(2)",
        "table(iadd(SpillTable, pushconst):pc, local_x)",
    ];
    assert_eq!(c.kept_text(), want);
    assert_eq!(
        c.interface.user_data[2..],
        [UserData::PushConstant(1), UserData::PushConstant(2), UserData::SpillTable]
    );
    let c = case(Stage::Compute, layout(), build);
    // Set 0 at dword 3, the dynamic buffers at 4 to 19, push constants from 20.
    want[3] = "table(SpillTable:pc, iadd(80, local_x))";
    assert_eq!(c.kept_text(), want);
    assert_eq!(c.interface.user_data[2..], [UserData::Root(21), UserData::Root(22), UserData::SpillTable]);
    assert_eq!(c.interface.spill_threshold, Some(20));
}

#[test]
fn push_constants_that_do_not_fit_are_loaded() {
    let c = unknown(Stage::Compute, |b| {
        let zero = b.c32(0);
        push(b, zero, Type::vector(Bits::B32, 15).unwrap());
    });
    assert_eq!(c.kept_text(), ["table(iadd(SpillTable, pushconst):pc, 0)"]);
}
