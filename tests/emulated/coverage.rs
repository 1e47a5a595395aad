//! Every supported feature has a case. Probing the front end gives the supported features, the SPIR-V of the cases
//! gives the features used; the test lists those that are supported but not used.
//!
//! The cases are all shaders of the folders below, each of which is run against lavapipe by the test file listed next
//! to it. An exemption has a reason, and is removed when its feature gets a case.

use crate::cases::Case;
use crate::support::{assembly, glsl, root};
use crate::{features, probe};
use std::collections::{BTreeMap, BTreeSet};

/// Folders of cases, with the test that runs their shaders.
const CASES: &[(&str, &str)] = &[
    ("coverage", "compute_cases and interpreted_compute"),
    ("draw", "interpreted_draws"),
    ("draws", "draws"),
    ("stages", "draw_cases"),
    ("formats", "formats"),
];

/// Features without a case, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("BuiltIn WorkgroupSize, input of GLCompute", "valid modules have it as a constant, which has cases"),
    ("OpImageQuerySamples", "inputs have no multisampled images"),
    ("capability ImageMSArray", "inputs have no multisampled images"),
    ("capability StorageImageMultisample", "inputs have no multisampled images"),
    ("image operand SAMPLE", "inputs have no multisampled images"),
    ("capability InputAttachment", "draws have no input attachments"),
    ("capability InputAttachmentArrayDynamicIndexing", "draws have no input attachments"),
    ("capability InputAttachmentArrayNonUniformIndexing", "draws have no input attachments"),
    ("OpReadClockKHR", "no two runs agree on the time"),
    ("capability ShaderClockKHR", "no two runs agree on the time"),
    ("capability ImageRect", "Vulkan has no such image"),
    ("capability SampledRect", "Vulkan has no such image"),
    ("capability Int64ImageEXT", "neither lavapipe nor the interpreter has texels of 64 bits"),
    ("capability ShaderLayer", "glslang declares ShaderViewportIndexLayerEXT for the same"),
    ("capability ShaderViewportIndex", "glslang declares ShaderViewportIndexLayerEXT for the same"),
    ("execution mode PixelCenterInteger", "Vulkan forbids it"),
    ("execution mode EarlyAndLateFragmentTestsAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefUnchangedFrontAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefGreaterFrontAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefLessFrontAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefUnchangedBackAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefGreaterBackAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode StencilRefLessBackAMD", "it only permits what shaders without it may do anyway"),
    ("execution mode RequireFullQuadsKHR", "the assembler of bookworm cannot write a fragment shader with it"),
];

/// Features that the cases use, each with the first case that uses it.
fn read_cases(test: &str) -> Option<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    for (folder, _) in CASES {
        let entries = std::fs::read_dir(root().join("testdata").join(folder)).expect("a folder of cases");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a case").path()).collect();
        paths.sort();
        for path in paths {
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            let case = Case::new("", &std::fs::read_to_string(&path).expect("a case"));
            let module = match extension.as_str() {
                "spvasm" => assembly(test, &path)?,
                "vert" | "frag" | "comp" => glsl(test, &path, &case.target)?,
                _ => continue,
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for feature in features::of(&module) {
                out.entry(feature).or_insert_with(|| format!("{folder}/{name}"));
            }
        }
    }
    Some(out)
}

#[test]
fn features_and_cases_are_the_same() {
    let test = "coverage::features_and_cases_are_the_same";
    let Some(occurring) = read_cases(test) else { return };
    let supported = probe::supported();
    everything_supported_has_a_case(&occurring, supported);
    // The probe must not be too strict: it must report every feature that a case uses. Forms of images are not probed.
    let missed: BTreeSet<_> =
        occurring.iter().filter(|(name, _)| !supported.contains(*name) && !name.contains(" image ")).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    every_form_of_image_has_a_case(&occurring);
}

fn everything_supported_has_a_case(occurring: &BTreeMap<String, String>, supported: &BTreeSet<String>) {
    let exempt: BTreeMap<&str, &str> = EXEMPT.iter().copied().collect();
    let without: Vec<&String> =
        supported.iter().filter(|name| !occurring.contains_key(*name) && !exempt.contains_key(name.as_str())).collect();
    assert!(without.is_empty(), "{} of {} features have no case: {without:#?}", without.len(), supported.len());
    let idle: Vec<&&str> =
        exempt.keys().filter(|name| occurring.contains_key(**name) || !supported.contains(**name)).collect();
    assert!(idle.is_empty(), "exempt without need: {idle:?}");
    eprintln!("{} features, {} of them exempt", supported.len(), exempt.len());
}

/// Every image type that Vulkan has and a front end encounters has a case.
fn every_form_of_image_has_a_case(occurring: &BTreeMap<String, String>) {
    let sampled = ["Dim1D", "Dim1D array", "Dim2D", "Dim2D array", "Dim3D", "DimCube", "DimCube array", "DimBuffer"];
    let storage = ["Dim1D", "Dim1D array", "Dim2D", "Dim2D array", "Dim3D", "DimCube", "DimCube array", "DimBuffer"];
    let wanted = sampled.map(|form| format!("sampled image {form}")).into_iter();
    let wanted = wanted.chain(storage.map(|form| format!("storage image {form}")));
    let without: Vec<String> = wanted.filter(|form| !occurring.contains_key(form)).collect();
    assert!(without.is_empty(), "{without:#?}");
}
