//! Placement of code and data by the linker, and how LLVM's tools read the result.

use crate::link_support::*;
use dovetail::link::{EmitGlue, Object, Placement, link, link_objects, verify};

fn linked(parts: &[Unlinked], placement: Placement) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = parts.iter().map(Unlinked::build).collect();
    let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let elf = link(&parts, &state(), placement, &EmitGlue).unwrap();
    let report = verify(&elf).unwrap();
    assert!(report.is_ok(), "{:#?}", report.violations);
    elf
}

const BOTH: [Placement; 2] = [Placement::Adjacent, Placement::Chained];

/// A symbol in llvm-readelf's listing: value, size, binding.
fn symbol(readelf: &str, name: &str) -> (u32, u32, String) {
    let mut table = readelf.lines().skip_while(|l| !l.starts_with("Symbol table"));
    let line = table.find(|l| l.ends_with(&format!(" {name}"))).unwrap_or_else(|| panic!("no {name}:\n{readelf}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    (u32::from_str_radix(words[1], 16).unwrap(), words[2].parse().unwrap(), words[4].to_owned())
}

/// Instructions of a disassembly: address, text.
fn instructions(objdump: &str) -> Vec<(u32, String)> {
    objdump
        .lines()
        .filter_map(|l| {
            let (text, rest) = l.strip_prefix('\t')?.split_once("//")?;
            let at = rest.trim().split(':').next()?;
            Some((u32::from_str_radix(at, 16).ok()?, text.trim().to_owned()))
        })
        .collect()
}

fn at(code: &[(u32, String)], address: u32) -> &str {
    code.iter().find(|(a, _)| *a == address).map_or("nothing", |(_, text)| text)
}

#[test]
fn adjacent_parts_fall_through() {
    let elf = linked(&[fragment(), vertex()], Placement::Adjacent);
    let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) else { return };
    let (vs, vs_size, binding) = symbol(&readelf, "_amdgpu_vs_main");
    let (body, body_size, body_binding) = symbol(&readelf, "_amdgpu_vs_main_fetchless");
    let (ps, ps_size, _) = symbol(&readelf, "_amdgpu_ps_main");
    assert_eq!((vs, binding.as_str(), body_binding.as_str()), (0, "GLOBAL", "LOCAL"));
    assert_eq!((body % 64, ps % 256), (0, 0));
    assert_eq!(body_size, 12);
    assert!(vs + vs_size > body + body_size, "the entry symbol spans prolog, body and epilog");
    assert!(ps >= vs + vs_size && ps_size > 5 * 4);

    let code = instructions(&tool("llvm-objdump-19", &["-d"], &elf).unwrap());
    // Between the prolog's last instruction and the body there is only s_nop, with a branch over them if there are
    // many.
    let prolog_end = code.iter().rposition(|(a, t)| *a < body && t != "s_nop 0" && !t.starts_with("s_branch")).unwrap();
    assert!(code[prolog_end].1.starts_with("s_waitcnt"), "{:?}", code[prolog_end]);
    let (gap, branch) = &code[prolog_end + 1];
    let words = (body - gap) / 4;
    let first = if words < 6 { "s_nop 0".to_owned() } else { format!("s_branch {}", words - 1) };
    assert_eq!(*branch, first);
    assert!(code.iter().filter(|(_, text)| text.starts_with("s_branch")).count() <= 3, "{code:#?}");
    assert_eq!(at(&code, body), "exp pos0 v4, v5, v6, v7 done");
    let (last, _) = code.iter().rfind(|(_, t)| t != "s_code_end").unwrap();
    let end = code.last().unwrap().0 + 4;
    assert_eq!(end, (last + 4).next_multiple_of(64) + 3 * 64);
}

/// Code without alignment requirements directly follows the previous part, in both placements.
#[test]
fn code_that_needs_no_alignment_gets_none() {
    for placement in BOTH {
        let parts = [vertex(), fragment()].map(|part| Unlinked { align: 4, ..part });
        let elf = linked(&parts, placement);
        let Some(listing) = tool("llvm-objdump-19", &["-d"], &elf) else { return };
        let code = instructions(&listing);
        let readelf = tool("llvm-readelf-19", &["-a"], &elf).expect("as objdump");
        let (ps, ..) = symbol(&readelf, "_amdgpu_ps_main");
        // Stages start at multiples of 256; there is no other padding, and joints are the only branches. The body has
        // its own no-ops.
        let own = parts[0].code.iter().filter(|word| **word == 0xbf80_0000).count();
        let vertex_end = code.iter().rposition(|(a, t)| *a < ps && t != "s_nop 0").expect("code");
        let found = code[..vertex_end].iter().filter(|(_, text)| text == "s_nop 0").count();
        assert_eq!(found, own, "{placement:?}: {code:#?}");
        let branches = code.iter().filter(|(_, text)| text.starts_with("s_branch")).count();
        assert_eq!(branches, if placement == Placement::Chained { 3 } else { 0 });
    }
}

#[test]
fn chained_parts_branch() {
    let elf = linked(&[vertex(), fragment()], Placement::Chained);
    let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) else { return };
    let (vs, vs_size, _) = symbol(&readelf, "_amdgpu_vs_main");
    let (body, body_size, _) = symbol(&readelf, "_amdgpu_vs_main_fetchless");
    let (ps, ps_size, _) = symbol(&readelf, "_amdgpu_ps_main");
    let code = instructions(&tool("llvm-objdump-19", &["-d"], &elf).unwrap());
    assert_eq!(code.iter().filter(|(_, t)| t.starts_with("s_branch")).count(), 3);
    let branch = |(at, text): &(u32, String)| -> Option<(u32, u32)> {
        let words = text.strip_prefix("s_branch ")?.parse::<u16>().unwrap() as i16;
        Some((at + 4, (at + 4).wrapping_add_signed(i32::from(words) * 4)))
    };
    let branches: Vec<(u32, u32)> = code.iter().filter_map(branch).collect();
    let from = |start: u32, end: u32| -> Vec<u32> {
        branches.iter().filter(|(at, _)| (start..=end).contains(at)).map(|(_, to)| *to).collect()
    };
    assert_eq!(branches.iter().filter(|(_, to)| *to == body).count(), 1, "the prolog goes on into the body");
    let [params] = from(body, body + body_size)[..] else { panic!("the body does not go on: {branches:?}") };
    assert!(params < body, "the parts do not stand in the order in which they run");
    let [colors] = from(ps, ps + ps_size)[..] else { panic!("the fragment body does not go on: {branches:?}") };
    let text = at(&code, colors);
    assert!(text.starts_with("v_cvt_pkrtz") || text.starts_with("exp"), "{text}");
    // Tools read the bytes of the stage's symbol: it must span all its parts, and nothing of the other stage.
    let spans = |start, size, part: u32| (start..start + size).contains(&part);
    assert!(spans(vs, vs_size, params) && spans(vs, vs_size, body + body_size - 1));
    assert!(spans(ps, ps_size, colors) && vs + vs_size <= ps);
}

/// A branch reaches 128 KiB. A pipeline that cannot be chained is placed adjacent, and reported so.
#[test]
fn parts_too_far_for_a_branch_are_placed_adjacent() {
    let placed = |instructions: usize| {
        let mut large = vertex();
        let end = large.code.len();
        large.code.splice(end - 1..end - 1, std::iter::repeat_n(0xBF80_0000, instructions));
        let parts = [large.build(), fragment().build()].map(|bytes| Object::parse(&bytes).unwrap());
        let linked = link_objects(&[&parts[0], &parts[1]], &state(), Placement::Chained, &EmitGlue).unwrap();
        assert!(verify(&linked.elf).unwrap().is_ok());
        linked.placement
    };
    assert_eq!(placed(1000), Placement::Chained);
    assert_eq!(placed(1 << 15), Placement::Adjacent);
}

#[test]
fn both_placements_run_the_same_code() {
    let bodies = |placement| -> Vec<String> {
        let elf = linked(&[vertex().load_symbol(9, "doff_0_1_r"), fragment()], placement);
        let Some(text) = tool("llvm-objdump-19", &["-d"], &elf) else { return vec![] };
        let mut code: Vec<String> = instructions(&text).into_iter().map(|(_, t)| t).collect();
        code.retain(|t| !t.starts_with("s_branch") && t != "s_nop 0" && t != "s_code_end");
        code.sort();
        code
    };
    assert_eq!(bodies(Placement::Adjacent), bodies(Placement::Chained));
}

#[test]
fn a_vertex_shader_alone_gets_an_empty_fragment_shader() {
    for placement in BOTH {
        let elf = linked(&[vertex()], placement);
        let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) else { return };
        let (ps, size, _) = symbol(&readelf, "_amdgpu_ps_main");
        assert_eq!(size, 4);
        let code = instructions(&tool("llvm-objdump-19", &["-d"], &elf).unwrap());
        assert_eq!(at(&code, ps), "s_endpgm");
    }
}

#[test]
fn compute_and_whole_stages_need_no_glue() {
    let elf = linked(&[compute()], Placement::Adjacent);
    assert_eq!(elf, linked(&[compute()], Placement::Chained));
    if let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) {
        assert_eq!(symbol(&readelf, "_amdgpu_cs_main"), (0, 8, "GLOBAL".into()));
    }
    let mut whole = fragment();
    whole.interface.epilog = false;
    whole.joint = false;
    whole.code = vec![S_ENDPGM];
    let dovetail::metadata::interface::StageKind::Fragment(f) = &mut whole.interface.kind else { unreachable!() };
    f.exported = Some(dovetail::metadata::interface::ExportedFormats { col_format: 4, cb_mask: 15, z_format: 0 });
    let elf = linked(&[vertex(), whole], Placement::Adjacent);
    if let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) {
        assert_eq!(symbol(&readelf, "_amdgpu_ps_main").1, 4);
        // SPI_SHADER_COL_FORMAT and CB_SHADER_MASK.
        assert!(readelf.contains("41413:           4") && readelf.contains("41103:           15"), "{readelf}");
    }
}

#[test]
fn constant_data_is_merged_by_name_and_relocated_by_the_loader() {
    let with_data = |mut part: Unlinked, fill: u8| {
        let at = 4 * part.code.len() as u32;
        part.code.extend([s_mov_literal(8), 4, s_mov_literal(9), 4, S_NOP]);
        for (offset, kind) in [(4, ABS32_LO), (12, ABS32_HI)] {
            part.relocations.push((at + offset, kind, Against::Section(".rodata.cst32".into())));
        }
        part.data.push((".rodata.cst32".into(), 32, vec![fill; 20]));
        part
    };
    let mut ps = with_data(fragment(), 7);
    ps.data.push((".rodata".into(), 4, vec![1, 2, 3]));
    ps.data_relocations.push((8, ABS32_LO, Against::Section(".rodata".into())));
    for placement in BOTH {
        let elf = linked(&[with_data(vertex(), 5), ps.clone()], placement);
        let Some(readelf) = tool("llvm-readelf-19", &["-a"], &elf) else { return };
        let header = |name: &str| readelf.lines().find(|l| l.contains(&format!("] {name} "))).unwrap().to_owned();
        assert!(header(".rodata.cst32").contains(" 000034 "), "20 bytes, padded to 32, and 20 more: {readelf}");
        assert_eq!(readelf.matches("R_AMDGPU_ABS32_LO").count(), 3, "{readelf}");
        assert_eq!(readelf.matches("R_AMDGPU_ABS32_HI").count(), 2, "{readelf}");
        assert!(readelf.contains("'.rel.rodata.cst32'"), "{readelf}");
        assert_eq!(symbol(&readelf, ".rodata.cst32.vertex"), (0, 20, "LOCAL".into()));
        assert_eq!(symbol(&readelf, ".rodata.cst32.fragment"), (32, 20, "LOCAL".into()));
        assert_eq!(symbol(&readelf, ".rodata.fragment"), (0, 3, "LOCAL".into()));
        let objdump = tool("llvm-objdump-19", &["-d", "-r"], &elf).unwrap();
        // The addend stays in place for the loader.
        assert!(objdump.contains("s_mov_b32 s8, 4"), "{objdump}");
    }
}

#[test]
fn the_same_parts_give_the_same_bytes_in_any_order() {
    for placement in BOTH {
        let a = linked(&[vertex(), fragment()], placement);
        assert_eq!(a, linked(&[fragment(), vertex()], placement));
        let other = linked(&[vertex().load_symbol(9, "$deviceIdx"), fragment()], placement);
        assert_ne!(a, other);
    }
}

#[test]
fn stages_that_make_no_pipeline_are_refused() {
    let refusal = |parts: &[Unlinked]| {
        let bytes: Vec<Vec<u8>> = parts.iter().map(Unlinked::build).collect();
        let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        link(&parts, &state(), Placement::Adjacent, &EmitGlue).unwrap_err().to_string()
    };
    assert!(refusal(&[]).contains("make no pipeline"));
    assert!(refusal(&[fragment()]).contains("[fragment] make no pipeline"));
    assert!(refusal(&[vertex(), compute()]).contains("make no pipeline"));
    assert!(refusal(&[vertex(), vertex(), fragment()]).contains("two parts are the vertex stage"));
}
