//! The registers of pal-abi 6.1: where each comes from, and what state and interfaces make of it.

use crate::register_cases::*;
use dovetail::abi::formats::Format;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::metadata::document::Document;
use dovetail::metadata::named;
use dovetail::metadata::note;
use dovetail::metadata::registers::*;
use dovetail::metadata::schema::Owner;
use dovetail::state::VkFormat;
use dovetail::target::{Family, Gpu};
use std::collections::{BTreeMap, BTreeSet};

/// Who writes a register's word, or why nobody does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// The code generator; the link adds fields.
    Code,
    /// The link.
    Link,
    /// The link, for a part whose user data or attributes reach it.
    Mapped,
    /// Nobody.
    Nobody(&'static str),
}
use Origin::{Code, Link, Mapped, Nobody};

const NO_FEEDBACK: &str = "transform feedback is not supported";

/// pal-abi 6.1, line by line: name, dword number, length of the range, origin.
const ORIGINS: &[(&str, u32, u32, Origin)] = &[
    ("SPI_SHADER_PGM_RSRC1_VS", 0x2C4A, 1, Code),
    ("SPI_SHADER_PGM_RSRC2_VS", 0x2C4B, 1, Code),
    ("SPI_SHADER_USER_DATA_VS", 0x2C4C, 32, Mapped),
    ("SPI_SHADER_PGM_RSRC1_PS", 0x2C0A, 1, Code),
    ("SPI_SHADER_PGM_RSRC2_PS", 0x2C0B, 1, Code),
    ("SPI_SHADER_USER_DATA_PS", 0x2C0C, 32, Mapped),
    ("SPI_PS_INPUT_ENA", 0xA1B3, 1, Code),
    ("SPI_PS_INPUT_ADDR", 0xA1B4, 1, Code),
    ("SPI_PS_IN_CONTROL", 0xA1B6, 1, Code),
    ("SPI_PS_INPUT_CNTL", 0xA191, 32, Mapped),
    ("SPI_INTERP_CONTROL_0", 0xA1B5, 1, Mapped),
    ("SPI_BARYC_CNTL", 0xA1B8, 1, Link),
    ("SPI_VS_OUT_CONFIG", 0xA1B1, 1, Link),
    ("SPI_SHADER_POS_FORMAT", 0xA1C3, 1, Link),
    ("SPI_SHADER_COL_FORMAT", 0xA1C5, 1, Link),
    ("SPI_SHADER_Z_FORMAT", 0xA1C4, 1, Link),
    ("CB_SHADER_MASK", 0xA08F, 1, Link),
    ("DB_SHADER_CONTROL", 0xA203, 1, Link),
    ("PA_CL_CLIP_CNTL", 0xA204, 1, Link),
    ("PA_CL_VTE_CNTL", 0xA206, 1, Link),
    ("PA_CL_VS_OUT_CNTL", 0xA207, 1, Link),
    ("PA_SU_VTX_CNTL", 0xA2F9, 1, Link),
    ("PA_SC_MODE_CNTL_1", 0xA293, 1, Link),
    ("PA_SC_SHADER_CONTROL", 0xA310, 1, Link),
    ("PA_SC_AA_CONFIG", 0xA2F8, 1, Link),
    ("PA_STEREO_CNTL", 0xA210, 1, Link),
    ("VGT_SHADER_STAGES_EN", 0xA2D5, 1, Code),
    ("VGT_PRIMITIVEID_EN", 0xA2A1, 1, Link),
    ("VGT_REUSE_OFF", 0xA2AD, 1, Link),
    ("VGT_GS_ONCHIP_CNTL", 0xA291, 1, Link),
    ("IA_MULTI_VGT_PARAM_PIPED", 0xC258, 1, Link),
    ("VGT_STRMOUT_CONFIG", 0xA2E5, 1, Link),
    ("VGT_STRMOUT_BUFFER_CONFIG", 0xA2E6, 1, Link),
    ("VGT_STRMOUT_VTX_STRIDE_0", 0xA2B5, 1, Nobody(NO_FEEDBACK)),
    ("VGT_STRMOUT_VTX_STRIDE_1", 0xA2B9, 1, Nobody(NO_FEEDBACK)),
    ("VGT_STRMOUT_VTX_STRIDE_2", 0xA2BD, 1, Nobody(NO_FEEDBACK)),
    ("VGT_STRMOUT_VTX_STRIDE_3", 0xA2C1, 1, Nobody(NO_FEEDBACK)),
    ("SPI_SHADER_PGM_CHKSUM_VS", 0x2C45, 1, Link),
    ("SPI_SHADER_PGM_CHKSUM_PS", 0x2C06, 1, Link),
    ("SPI_SHADER_PGM_CHKSUM_GS", 0x2C80, 1, Link),
    ("SPI_SHADER_PGM_RSRC1_GS", 0x2C8A, 1, Code),
    ("SPI_SHADER_PGM_RSRC2_GS", 0x2C8B, 1, Code),
    ("SPI_SHADER_USER_DATA_GS", 0x2C8C, 32, Mapped),
    ("SPI_SHADER_IDX_FORMAT", 0xA1C2, 1, Link),
    ("GE_MAX_OUTPUT_PER_SUBGROUP", 0xA1FF, 1, Link),
    ("GE_NGG_SUBGRP_CNTL", 0xA2D3, 1, Link),
    ("VGT_GS_MODE", 0xA290, 1, Link),
    ("VGT_GS_OUT_PRIM_TYPE", 0xA29B, 1, Link),
    ("VGT_ESGS_RING_ITEMSIZE", 0xA2AB, 1, Link),
    ("VGT_GS_MAX_VERT_OUT", 0xA2CE, 1, Link),
    ("VGT_GS_INSTANCE_CNT", 0xA2E4, 1, Link),
    ("SPI_SHADER_USER_ACCUM_VS", 0x2C72, 4, Nobody("PAL ignores them")),
    ("SPI_SHADER_USER_ACCUM_PS", 0x2C32, 4, Nobody("PAL ignores them")),
    ("COMPUTE_PGM_RSRC1", 0x2E12, 1, Code),
    ("COMPUTE_PGM_RSRC2", 0x2E13, 1, Code),
    ("COMPUTE_PGM_RSRC3", 0x2E28, 1, Link),
    ("COMPUTE_NUM_THREAD", 0x2E07, 3, Link),
    ("COMPUTE_USER_DATA", 0x2E40, 16, Mapped),
    ("COMPUTE_SHADER_CHKSUM", 0x2E2A, 1, Link),
    ("COMPUTE_RESOURCE_LIMITS", 0x2E15, 1, Nobody("optional: no limit")),
    ("COMPUTE_DISPATCH_INITIATOR", 0x2E00, 1, Code),
];

/// PAL of April 2025 reads these of a graphics pipeline without looking whether they are there (pal-abi 6.1).
const READ_UNCHECKED: &[HardwareRegister] = &[
    VGT_SHADER_STAGES_EN,
    PA_CL_CLIP_CNTL,
    PA_CL_VTE_CNTL,
    PA_SU_VTX_CNTL,
    PA_SC_MODE_CNTL_1,
    VGT_REUSE_OFF,
    SPI_PS_IN_CONTROL,
    DB_SHADER_CONTROL,
    SPI_BARYC_CNTL,
    SPI_PS_INPUT_ADDR,
    SPI_PS_INPUT_ENA,
    VGT_PRIMITIVEID_EN,
    PA_SC_SHADER_CONTROL,
    PA_SC_AA_CONFIG,
];

/// Digests of the parts.
const CHECKSUMS: [HardwareRegister; 3] = [SPI_SHADER_PGM_CHKSUM_VS, SPI_SHADER_PGM_CHKSUM_PS, COMPUTE_SHADER_CHKSUM];
/// Words with the counts of registers, which glue may raise.
const COUNTS: [HardwareRegister; 3] = [SPI_SHADER_PGM_RSRC1_VS, SPI_SHADER_PGM_RSRC1_PS, COMPUTE_PGM_RSRC1];

type Words = BTreeMap<HardwareRegister, u32>;

/// Every register of the linked pipeline.
fn all(pipeline: &Pipeline) -> Words {
    let parts: Vec<Vec<u8>> = pipeline.parts.iter().map(|part| part.build()).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let elf = link(&parts, &pipeline.state, Placement::Adjacent, &EmitGlue).expect("links");
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize;
    let header = 64 + 64 * 4;
    let section = &elf[word(header + 24)..word(header + 24) + word(header + 32)];
    let words = named::registers(&Document::parse(note::metadata(section).unwrap()).unwrap(), Gpu::Gfx1030).unwrap();
    let numbers = TABLE.iter().flat_map(|info| (0..info.count).map(|n| info.first.nth(n)));
    numbers.filter_map(|register| Some((register, words.get(register)?))).collect()
}

fn without_checksums(pipeline: &Pipeline) -> Words {
    let mut words = all(pipeline);
    words.retain(|register, _| !CHECKSUMS.contains(register));
    words
}

fn lines(words: &Words) -> Vec<String> {
    words.iter().map(|(register, word)| format!("{} {word:#x}", register.name())).collect()
}

#[test]
fn every_register_has_an_origin() {
    let mut rest: BTreeSet<&str> = TABLE.iter().map(|info| info.name).collect();
    let graphics = all(&Pipeline::graphics());
    let compute = all(&Pipeline::compute());
    let mut ngg = Pipeline::graphics();
    ngg.state.ngg = true;
    let ngg = all(&ngg);
    for &(name, number, count, origin) in ORIGINS {
        let mut places = (0..count).filter_map(|n| HardwareRegister::of_number(Family::Gfx103, number + n));
        let written = places.any(|place| [&graphics, &compute, &ngg].iter().any(|words| words.contains_key(&place)));
        let info = TABLE.iter().find(|info| info.name == name);
        if let Nobody(why) = origin {
            assert!(!written, "{name}: {why}");
            rest.remove(name);
            continue;
        }
        let info = info.unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!((info.first.number(Family::Gfx103), info.count), (Some(number), count), "{name}");
        let owner = if origin == Code { Owner::Code } else { Owner::Link };
        assert_eq!(info.owner, owner, "{name}");
        assert!(written || name == "SPI_INTERP_CONTROL_0", "{name} is never written");
        assert!(rest.remove(name), "{name} is here twice");
    }
    assert!(rest.is_empty(), "no origin: {rest:?}");
    for register in READ_UNCHECKED {
        assert!(graphics.contains_key(register), "{}", register.name());
    }
    assert!(compute.contains_key(&COMPUTE_PGM_RSRC1));
}

#[test]
fn the_simplest_pipelines_have_these_words() {
    for (pipeline, expected) in [(Pipeline::graphics(), GRAPHICS), (Pipeline::compute(), COMPUTE)] {
        assert_eq!(lines(&without_checksums(&pipeline)), lines(&expected.iter().copied().collect()));
    }
}

#[test]
fn each_state_and_interface_has_these_words() {
    let lists = [VERTEX, STATE, PARAMETERS, FRAGMENT, COLORS, KERNELS];
    let cases: usize = lists.iter().map(|list| list.len()).sum();
    assert!(cases >= 120, "{cases}");
    let mut wrong = Vec::new();
    for (list, cases) in lists.into_iter().enumerate() {
        for (name, change, differing) in cases {
            let start = if list == 5 { Pipeline::compute } else { Pipeline::graphics };
            let mut pipeline = start();
            change(&mut pipeline);
            let mut got = without_checksums(&pipeline);
            let mut expected = without_checksums(&start());
            expected.extend(differing.iter().copied());
            // A user-data register that the change takes away.
            if matches!(*name, "3 user SGPRs in the fragment stage") {
                expected.remove(&SPI_SHADER_USER_DATA_PS.nth(3));
            }
            for register in COUNTS.iter().filter(|register| !differing.iter().any(|(named, _)| named == *register)) {
                for words in [&mut got, &mut expected] {
                    words.entry(*register).and_modify(|word| *word &= !0x3ff);
                }
            }
            if got != expected {
                let (got, expected) = (lines(&got), lines(&expected));
                let only = |a: &[String], b: &[String]| -> Vec<String> {
                    a.iter().filter(|line| !b.contains(line)).cloned().collect()
                };
                wrong.push(format!("{name}: {:?} instead of {:?}", only(&got, &expected), only(&expected, &got)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_number_of_user_sgprs_has_six_bits() {
    // RSRC2_VS: USER_SGPR in bits 1 to 5, USER_SGPR_MSB in bit 27.
    for (count, word) in [(15, 0x1e), (31, 0x3e), (32, 0x0800_0000)] {
        let mut pipeline = Pipeline::graphics();
        pipeline.user_sgprs(count);
        let words = all(&pipeline);
        assert_eq!(words[&SPI_SHADER_PGM_RSRC2_VS], word, "{count}");
        assert!((7..count).all(|n| words[&SPI_SHADER_USER_DATA_VS.nth(n)] == n), "{count}");
    }
}

/// Blending, with the source's alpha, alpha to coverage, channels that the shader writes.
const EXPORTS: [(bool, bool, bool, u8); 8] = [
    (false, false, false, 15),
    (true, false, false, 15),
    (true, true, false, 15),
    (false, false, true, 15),
    (true, false, true, 15),
    (false, false, false, 7),
    (true, true, false, 7),
    (false, false, true, 7),
];

/// Formats of a class, with the export format for each of [`EXPORTS`]: the ten rules of pal-abi 7.1, applied by hand. On gfx10.3
/// rule 2 needs 32 bits (RB+).
const CLASSES: &[(&str, [u32; 8])] = &[
    // Rule 3: at most 10 bits normalised, at most 16 bits float, sRGB.
    (
        "R4G4_UNORM_PACK8 R4G4B4A4_UNORM_PACK16 B4G4R4A4_UNORM_PACK16 R5G6B5_UNORM_PACK16 B5G6R5_UNORM_PACK16
         R5G5B5A1_UNORM_PACK16 B5G5R5A1_UNORM_PACK16 A1R5G5B5_UNORM_PACK16 A4R4G4B4_UNORM_PACK16 A4B4G4R4_UNORM_PACK16
         A1B5G5R5_UNORM_PACK16 A8_UNORM R8_UNORM R8_SNORM R8_SRGB R8G8_UNORM R8G8_SNORM R8G8_SRGB R8G8B8_UNORM R8G8B8_SNORM
         R8G8B8_SRGB B8G8R8_UNORM B8G8R8_SNORM B8G8R8_SRGB R8G8B8A8_UNORM R8G8B8A8_SNORM R8G8B8A8_SRGB B8G8R8A8_UNORM
         B8G8R8A8_SNORM B8G8R8A8_SRGB A8B8G8R8_UNORM_PACK32 A8B8G8R8_SNORM_PACK32 A8B8G8R8_SRGB_PACK32
         A2R10G10B10_UNORM_PACK32 A2R10G10B10_SNORM_PACK32 A2B10G10R10_UNORM_PACK32 A2B10G10R10_SNORM_PACK32 R16_SFLOAT
         R16G16_SFLOAT R16G16B16_SFLOAT R16G16B16A16_SFLOAT B10G11R11_UFLOAT_PACK32 E5B9G9R9_UFLOAT_PACK32",
        [4; 8],
    ),
    // Rule 6, with alpha to coverage rule 8.
    ("R8_UINT R16_UINT", [7, 7, 7, 3, 3, 7, 7, 3]),
    // With alpha to coverage rule 10, or rule 9 without alpha.
    ("R8G8_UINT R16G16_UINT", [7, 7, 7, 9, 9, 7, 7, 2]),
    (
        "R8G8B8_UINT B8G8R8_UINT R8G8B8A8_UINT B8G8R8A8_UINT A8B8G8R8_UINT_PACK32 A2R10G10B10_UINT_PACK32
         A2B10G10R10_UINT_PACK32 R16G16B16_UINT R16G16B16A16_UINT",
        [7, 7, 7, 9, 9, 7, 7, 9],
    ),
    // Rule 4, and the same.
    ("R8_SINT R16_SINT", [8, 8, 8, 3, 3, 8, 8, 3]),
    ("R8G8_SINT R16G16_SINT", [8, 8, 8, 9, 9, 8, 8, 2]),
    (
        "R8G8B8_SINT B8G8R8_SINT R8G8B8A8_SINT B8G8R8A8_SINT A8B8G8R8_SINT_PACK32 A2R10G10B10_SINT_PACK32
         A2B10G10R10_SINT_PACK32 R16G16B16_SINT R16G16B16A16_SINT",
        [8, 8, 8, 9, 9, 8, 8, 9],
    ),
    // Rules 7 and 5; blending needs 32 bits: rules 8, 9, 10.
    ("R16_UNORM", [5, 3, 3, 5, 3, 5, 3, 5]),
    ("R16G16_UNORM", [5, 2, 9, 5, 9, 5, 2, 5]),
    ("R16G16B16_UNORM R16G16B16A16_UNORM", [5, 9, 9, 5, 9, 5, 9, 5]),
    ("R16_SNORM", [6, 3, 3, 6, 3, 6, 3, 6]),
    ("R16G16_SNORM", [6, 2, 9, 6, 9, 6, 2, 6]),
    ("R16G16B16_SNORM R16G16B16A16_SNORM", [6, 9, 9, 6, 9, 6, 9, 6]),
    // Rule 2, with alpha rule 8.
    ("R32_UINT R32_SINT R32_SFLOAT", [1, 1, 3, 3, 3, 1, 1, 1]),
    ("R32G32_UINT R32G32_SINT R32G32_SFLOAT", [2, 2, 9, 9, 9, 2, 2, 2]),
    (
        "R32G32B32_UINT R32G32B32_SINT R32G32B32_SFLOAT R32G32B32A32_UINT R32G32B32A32_SINT R32G32B32A32_SFLOAT",
        [9; 8],
    ),
];

#[test]
fn every_colour_format_is_exported_like_this() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for (names, expected) in CLASSES {
        for name in names.split_whitespace() {
            let format: VkFormat = name.parse().expect(name);
            assert!(seen.insert(format.0), "{name} is here twice");
            let got = EXPORTS.map(|(blend, alpha, coverage, channels)| {
                let mut pipeline = Pipeline::graphics();
                pipeline.only(name, channels);
                let attachment = &mut pipeline.state.color.attachments[0];
                (attachment.blend, attachment.blend_source_alpha) = (blend, alpha);
                pipeline.state.color.alpha_to_coverage = coverage;
                let words = all(&pipeline);
                assert_eq!(words[&CB_SHADER_MASK], 15, "{name}");
                words[&SPI_SHADER_COL_FORMAT]
            });
            if got != *expected {
                wrong.push(format!("{name}: {got:?} instead of {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let colours = |format: &VkFormat| Format::of(*format).is_ok_and(|format| format.is_color());
    let numbers = (0..200).chain(1_000_340_000..1_000_340_002).chain(1_000_470_000..1_000_470_002).map(VkFormat);
    let missing: Vec<_> = numbers.filter(colours).filter(|format| !seen.contains(&format.0)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
