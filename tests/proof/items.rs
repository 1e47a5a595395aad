//! The items of the proof: compute modules and pairs of the extracted corpora.

use dovetail::corpus::spec::SpecFile;
use dovetail::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A compute shader or a pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Item {
    /// Folder in the corpus.
    pub source: String,
    /// Name in that folder.
    pub name: String,
    /// One compute module, or a vertex and a fragment module.
    pub files: Vec<PathBuf>,
    /// Values of specialization constants.
    pub spec: Vec<(u32, u64)>,
}

#[derive(Deserialize)]
struct Module {
    name: String,
    file: PathBuf,
    entries: Vec<Entry>,
    cooperative_matrix: bool,
}

#[derive(Deserialize)]
struct Entry {
    stage: String,
}

impl Item {
    /// Key that distinguishes it from all others.
    pub fn key(&self) -> (String, bool, String) {
        (self.source.clone(), self.is_pair(), self.name.clone())
    }

    /// Whether it is a pair.
    pub fn is_pair(&self) -> bool {
        self.files.len() > 1
    }
}

/// All items below `corpus`, except cooperative matrices, which the compiler does not support; `corpus check` counts
/// them.
pub fn all(corpus: &Path) -> Result<Vec<Item>> {
    let mut folders: Vec<PathBuf> = match std::fs::read_dir(corpus) {
        Ok(entries) => entries.flatten().map(|e| e.path()).filter(|p| p.join("index.json").exists()).collect(),
        Err(_) => Vec::new(),
    };
    folders.sort();
    let mut out = Vec::new();
    for folder in folders {
        let source = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let index: Vec<Module> = serde_json::from_str(&std::fs::read_to_string(folder.join("index.json"))?)
            .map_err(|e| Error::malformed(format!("{source}/index.json: {e}")))?;
        let mut spec = std::fs::read_to_string(folder.join("spec.toml")).unwrap_or_default();
        let looked_up = crate::support::root().join(format!("testdata/corpus/{source}-spec.toml"));
        spec += &std::fs::read_to_string(looked_up).unwrap_or_default();
        let spec = SpecFile::parse(&spec)?;
        for module in index {
            if module.cooperative_matrix || module.entries.iter().all(|e| e.stage != "compute") {
                continue;
            }
            let spec = spec.values(&module.name).into_iter().map(|(id, value)| (id, value.into())).collect();
            out.push(Item { source: source.clone(), name: module.name, files: vec![folder.join(module.file)], spec });
        }
        let pairs = std::fs::read_to_string(folder.join("pairs.tsv")).unwrap_or_default();
        for line in pairs.lines().skip(1) {
            let [_, vertex, fragment] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
            let bare = |file: &str| file.trim_end_matches(".spv").to_owned();
            out.push(Item {
                source: source.clone(),
                name: format!("{} + {}", bare(vertex), bare(fragment)),
                files: vec![folder.join(vertex), folder.join(fragment)],
                spec: Vec::new(),
            });
        }
    }
    Ok(out)
}

/// About `count` of them, evenly spread: a proportional share of every source and kind, but a few at least.
pub fn sample(items: Vec<Item>, count: usize) -> Vec<Item> {
    const LEAST: usize = 8;
    let total = items.len().max(1);
    let mut groups: BTreeMap<(String, bool), Vec<Item>> = BTreeMap::new();
    for item in items {
        groups.entry((item.source.clone(), item.is_pair())).or_default().push(item);
    }
    let share = |group: Vec<Item>| {
        let wanted = (count * group.len()).div_ceil(total).max(LEAST).min(group.len()).max(1);
        let all = group.len();
        let chosen = move |(n, item)| (n * wanted / all != (n + 1) * wanted / all).then_some(item);
        group.into_iter().enumerate().filter_map(chosen)
    };
    groups.into_values().flat_map(share).collect()
}
