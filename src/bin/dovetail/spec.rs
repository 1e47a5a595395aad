//! Specialization files: which values which module is compiled with.
//!
//! ```toml
//! [values]            # for every module
//! 0 = 64
//! [[module]]          # for modules of this name, or whose name fits the pattern (* any run of characters)
//! glob = "mul_mat_*"
//! values = { 0 = 128, 3 = 32 }
//! ```
//! A module's name is the end of its path without `.spv`. Later entries win over earlier ones. Values are bits: integers
//! as they are, negative ones in two's complement of 64 bits; floats must be given as integers of their IEEE bits.

use dovetail::error::{Context, Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A parsed file; the default gives no values.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpecFile {
    values: BTreeMap<String, i64>,
    module: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    glob: Option<String>,
    values: BTreeMap<String, i64>,
}

impl SpecFile {
    pub fn read(path: &Path) -> Result<Self> {
        let place = || path.display().to_string();
        let text = std::fs::read_to_string(path).at(place)?;
        toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place)
    }

    /// Values for the module of this name, sorted by id.
    pub fn values(&self, name: &str) -> Result<Vec<(u32, u64)>> {
        let mut out = BTreeMap::new();
        let fitting = self.module.iter().filter(|e| {
            e.name.as_deref().is_some_and(|n| n == name || name.ends_with(&format!("/{n}")))
                || e.glob.as_deref().is_some_and(|g| fits(g, name))
        });
        for values in std::iter::once(&self.values).chain(fitting.map(|e| &e.values)) {
            for (id, &value) in values {
                let id: u32 =
                    id.parse().map_err(|_| Error::malformed(format!("specialization id `{id}` is no number")))?;
                out.insert(id, value as u64);
            }
        }
        Ok(out.into_iter().collect())
    }
}

/// Whether `name`, or its end after some slash, fits a pattern in which `*` is any run of characters.
fn fits(glob: &str, name: &str) -> bool {
    fn whole(glob: &[u8], name: &[u8]) -> bool {
        // Greedy with one point of return: linear in practice, and without recursion for any input.
        let (mut g, mut n, mut star) = (0, 0, None);
        while n < name.len() {
            if g < glob.len() && glob[g] == b'*' {
                star = Some((g, n));
                g += 1;
            } else if g < glob.len() && glob[g] == name[n] {
                g += 1;
                n += 1;
            } else if let Some((sg, sn)) = star {
                star = Some((sg, sn + 1));
                g = sg + 1;
                n = sn + 1;
            } else {
                return false;
            }
        }
        glob[g..].iter().all(|&b| b == b'*')
    }
    let starts = std::iter::once(0).chain(name.match_indices('/').map(|(i, _)| i + 1));
    starts.into_iter().any(|i| whole(glob.as_bytes(), &name.as_bytes()[i..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_entries_win_and_names_may_be_paths() {
        let file: SpecFile = toml::from_str(
            "[values]\n9 = 1\n[[module]]\nglob = \"mul_*\"\nvalues = { 0 = 64, 1 = -1 }\n[[module]]\nname = \"mul_f32\"\nvalues = { 0 = 128 }",
        )
        .unwrap();
        assert_eq!(file.values("ggml/mul_f32").unwrap(), [(0, 128), (1, u64::MAX), (9, 1)]);
        assert_eq!(file.values("mul_f16").unwrap(), [(0, 64), (1, u64::MAX), (9, 1)]);
        assert_eq!(file.values("add").unwrap(), [(9, 1)]);
        assert!(fits("*_f*2", "a/b_f32") && !fits("*_f*2", "a/b_f33") && fits("**", ""));
    }
}
