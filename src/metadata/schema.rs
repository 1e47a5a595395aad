//! The keys of a pipeline's metadata map: one table of name, scope, type, merge rule and owner (pal-abi 5).
//!
//! Keys are written in the order of the table. An unknown key is an error when reading, because unknown values cannot
//! be merged. To add a key: a variant of [`MetadataKey`], and its row of the table at the same index.

use std::fmt;

/// The map that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// In `amdpal.pipelines[0]`.
    Pipeline,
    /// In a map of `.hardware_stages`.
    Stage,
}

/// Type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Unsigned number, 32 bits.
    Uint,
    /// Boolean, read as 0 or 1.
    Bool,
    /// Text, map or array: rewritten instead of merged.
    Other,
}

/// Rule that merges the values of two parts. A value that only one part has is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// The bits of both.
    Or,
    /// Both must be equal.
    Same,
}

impl MergeRule {
    /// The merged value of two parts; `None` if they contradict each other.
    pub fn apply(self, a: u32, b: u32) -> Option<u32> {
        match self {
            Self::Max => Some(a.max(b)),
            Self::Min => Some(a.min(b)),
            Self::Or => Some(a | b),
            Self::Same => (a == b).then_some(a),
        }
    }
}

/// Source of a key's or register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The code generator, in the unlinked ELF.
    Code,
    /// The link. In an unlinked ELF it is absent or 0.
    Link,
    /// Only unlinked ELFs have it.
    Unlinked,
}

/// A key of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are PAL's own")]
pub enum MetadataKey {
    Type,
    Api,
    InternalPipelineHash,
    Shaders,
    HardwareStages,
    Registers,
    UserDataLimit,
    SpillThreshold,
    UsesViewportArrayIndex,
    PsSampleMask,
    VertexInputs,
    ColorExports,
    EntryPoint,
    SgprCount,
    VgprCount,
    SgprLimit,
    VgprLimit,
    ScratchMemorySize,
    LdsSize,
    ThreadgroupDimensions,
    WavefrontSize,
    UsesUavs,
    WritesUavs,
    WritesDepth,
    UsesPrimId,
}

struct Row {
    key: MetadataKey,
    name: &'static str,
    place: KeyScope,
    ty: ValueType,
    merge: MergeRule,
    owner: Owner,
}

const fn row(
    key: MetadataKey,
    name: &'static str,
    place: KeyScope,
    ty: ValueType,
    merge: MergeRule,
    owner: Owner,
) -> Row {
    Row { key, name, place, ty, merge, owner }
}

const TABLE: [Row; MetadataKey::COUNT] = {
    use KeyScope::{Pipeline, Stage};
    use MergeRule::{Max, Min, Or, Same};
    use Owner::{Code, Link, Unlinked};
    use ValueType::{Bool, Other, Uint};
    [
        row(MetadataKey::Type, ".type", Pipeline, Other, Same, Link),
        row(MetadataKey::Api, ".api", Pipeline, Other, Same, Link),
        row(MetadataKey::InternalPipelineHash, ".internal_pipeline_hash", Pipeline, Other, Same, Link),
        row(MetadataKey::Shaders, ".shaders", Pipeline, Other, Same, Link),
        row(MetadataKey::HardwareStages, ".hardware_stages", Pipeline, Other, Same, Code),
        row(MetadataKey::Registers, ".registers", Pipeline, Other, Same, Code),
        row(MetadataKey::UserDataLimit, ".user_data_limit", Pipeline, Uint, Max, Code),
        row(MetadataKey::SpillThreshold, ".spill_threshold", Pipeline, Uint, Min, Code),
        row(MetadataKey::UsesViewportArrayIndex, ".uses_viewport_array_index", Pipeline, Bool, Or, Link),
        row(MetadataKey::PsSampleMask, ".ps_sample_mask", Pipeline, Bool, Or, Link),
        row(MetadataKey::VertexInputs, ".vertexInputs", Pipeline, Other, Same, Unlinked),
        row(MetadataKey::ColorExports, ".colorExports", Pipeline, Other, Same, Unlinked),
        row(MetadataKey::EntryPoint, ".entry_point", Stage, Other, Same, Code),
        row(MetadataKey::SgprCount, ".sgpr_count", Stage, Uint, Max, Code),
        row(MetadataKey::VgprCount, ".vgpr_count", Stage, Uint, Max, Code),
        row(MetadataKey::SgprLimit, ".sgpr_limit", Stage, Uint, Max, Code),
        row(MetadataKey::VgprLimit, ".vgpr_limit", Stage, Uint, Max, Code),
        row(MetadataKey::ScratchMemorySize, ".scratch_memory_size", Stage, Uint, Max, Code),
        row(MetadataKey::LdsSize, ".lds_size", Stage, Uint, Max, Code),
        row(MetadataKey::ThreadgroupDimensions, ".threadgroup_dimensions", Stage, Other, Same, Link),
        row(MetadataKey::WavefrontSize, ".wavefront_size", Stage, Uint, Same, Code),
        row(MetadataKey::UsesUavs, ".uses_uavs", Stage, Bool, Or, Link),
        row(MetadataKey::WritesUavs, ".writes_uavs", Stage, Bool, Or, Link),
        row(MetadataKey::WritesDepth, ".writes_depth", Stage, Bool, Or, Link),
        row(MetadataKey::UsesPrimId, ".uses_prim_id", Stage, Bool, Or, Link),
    ]
};

impl MetadataKey {
    /// Number of keys.
    pub const COUNT: usize = 25;

    /// The key with this name in this map. `after`: a key that it probably follows, because maps have the table's order.
    pub fn parse(place: KeyScope, name: &[u8], after: Option<Self>) -> Option<Self> {
        let (before, rest) = TABLE.split_at(after.map_or(0, |key| key as usize + 1));
        rest.iter().chain(before).find(|r| r.place == place && r.name.as_bytes() == name).map(|r| r.key)
    }

    /// Every key, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|r| r.key)
    }

    /// The key with this number, which is its index in the table.
    pub(super) fn from_number(number: u32) -> Option<Self> {
        TABLE.get(number as usize).map(|row| row.key)
    }

    fn row(self) -> &'static Row {
        // The table has the order of the enum, which a test checks.
        &TABLE[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The map that it belongs to.
    pub fn place(self) -> KeyScope {
        self.row().place
    }

    /// Type of its value.
    pub fn ty(self) -> ValueType {
        self.row().ty
    }

    /// The rule that merges two values.
    pub fn merge(self) -> MergeRule {
        self.row().merge
    }

    /// The source of its value.
    pub fn owner(self) -> Owner {
        self.row().owner
    }
}

impl fmt::Display for MetadataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_keys() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.key as usize, i, "{}", row.name);
            assert_eq!(MetadataKey::parse(row.place, row.name.as_bytes(), None), Some(row.key));
            for after in MetadataKey::all() {
                assert_eq!(MetadataKey::parse(row.place, row.name.as_bytes(), Some(after)), Some(row.key));
            }
        }
        assert_eq!(MetadataKey::parse(KeyScope::Stage, b".type", None), None);
    }
}
