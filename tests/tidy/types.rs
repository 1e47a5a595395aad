//! Type names: each name has one meaning.

use crate::imports::without_visibility;
use crate::resolve::declared;
use crate::tree::{assert_none, product_lines, rust, tests_only, texts};
use std::collections::BTreeMap;

/// Files whose types have names given by someone else.
const NAMED_ELSEWHERE: &[&str] = &[
    // The structs of `include/dovetail.h`, used only through this module: `dvt_stats` is `types::Stats`.
    "src/capi/types.rs",
    // Vulkan's structs without `Vk`, as in an archive.
    "src/capture/model/",
    // Each command has its `Args`.
    "src/bin/dovetail/",
];

/// Names with more than one meaning.
const SHARED: &[&str] = &[
    // The trait is imported for its method `at`; the runtime's context is `dvt_context` in C.
    "Context", // The IR's, and the driver's handle, which has no IR.
    "Shader",
];

#[test]
fn no_two_types_have_one_name() {
    let texts = texts();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let product = rust(&texts).filter(|(name, _)| name.starts_with("src/") && !tests_only(name, &texts));
    for (name, text) in product.filter(|(name, _)| !NAMED_ELSEWHERE.iter().any(|other| name.starts_with(other))) {
        for (number, line) in product_lines(text) {
            let visible = line.starts_with("pub ") || line.starts_with("pub(crate) ");
            let rest = without_visibility(line);
            let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
            let is_type = ["struct ", "enum ", "union ", "trait ", "type "].iter().any(|kind| rest.starts_with(kind));
            if let Some(ty) = declared(line).filter(|_| visible && is_type) {
                places.entry(ty).or_default().push(format!("{name}:{number}"));
            }
        }
    }
    assert!(places.len() > 500, "{} types only were read", places.len());
    let shared = places.iter().filter(|(ty, places)| places.len() > 1 && !SHARED.contains(&ty.as_str()));
    let broken: Vec<String> = shared.map(|(ty, places)| format!("`{ty}`: {}", places.join(", "))).collect();
    assert_none(&broken, "types with one name: say which");
}
