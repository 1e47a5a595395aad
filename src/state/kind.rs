//! Descriptor kinds of a binding: one kind for all, or one of several for each (a mutable binding).
//!
//! A shader variable has one kind. Several variables may share a binding, in one module or in several stages;
//! [`BindingKind::of_uses`] gives the layout's kind for them. An image and a sampler become a combined descriptor, of
//! which each variable reads its half. Kinds that no single descriptor serves become a mutable binding
//! (`VK_EXT_mutable_descriptor_type`, the descriptor heaps of Direct3D 12): each array element holds one of them.

use dovetail_base::kinds::{KindSet, ResourceKind};
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The key of a mutable binding's list in a state file.
const MUTABLE: &str = "mutable";

/// Kind of a binding's descriptors. In a state file a name, `"sampled_image"`, or a list of names, `{ mutable =
/// ["sampled_image", "storage_buffer"] }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// Every descriptor is of this kind.
    One(ResourceKind),
    /// Each descriptor is of one of these kinds, with the size of the largest.
    Mutable(KindSet),
}

impl BindingKind {
    /// Kind of a binding shared by variables of these kinds.
    pub fn of_uses(uses: impl IntoIterator<Item = ResourceKind>) -> Self {
        use ResourceKind::{CombinedImageSampler, SampledImage, Sampler};
        let mut kinds: KindSet = uses.into_iter().collect();
        let halves = [SampledImage, Sampler].into_iter().filter(|half| kinds.contains(*half)).count();
        // One shader may read both halves of one element, so both must exist.
        if halves == 2 || halves == 1 && kinds.contains(CombinedImageSampler) {
            let others = kinds.iter().filter(|kind| !matches!(kind, SampledImage | Sampler));
            kinds = others.chain([CombinedImageSampler]).collect();
        }
        let mut all = kinds.iter();
        match (all.next(), all.next()) {
            (Some(kind), None) => Self::One(kind),
            _ => Self::Mutable(kinds),
        }
    }

    /// Possible kinds of a descriptor of the binding.
    pub const fn set(self) -> KindSet {
        match self {
            Self::One(kind) => KindSet::of(&[kind]),
            Self::Mutable(kinds) => kinds,
        }
    }

    /// The kinds of the set, one after the other.
    pub fn kinds(self) -> impl Iterator<Item = ResourceKind> {
        self.set().iter()
    }

    /// Whether a variable of this kind can use some descriptor of the binding.
    pub fn serves(self, used: ResourceKind) -> bool {
        match self {
            Self::One(kind) => kind.serves(used),
            Self::Mutable(kinds) => kinds.iter().any(|kind| kind.serves(used)),
        }
    }
}

impl From<ResourceKind> for BindingKind {
    fn from(kind: ResourceKind) -> Self {
        Self::One(kind)
    }
}

impl fmt::Display for BindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(kind) => write!(f, "{kind:?}"),
            Self::Mutable(kinds) => write!(f, "mutable descriptor of {kinds:?}"),
        }
    }
}

impl Serialize for BindingKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(kind) => kind.serialize(to),
            Self::Mutable(kinds) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry(MUTABLE, kinds)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for BindingKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KindVisitor)
    }
}

/// Reads a name, or a map with the single key [`MUTABLE`], so that an error quotes the wrong name.
struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = BindingKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a kind of descriptor, or {{ {MUTABLE} = [kinds] }}")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<BindingKind, E> {
        ResourceKind::deserialize(name.into_deserializer()).map(BindingKind::One)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BindingKind, A::Error> {
        let mut kinds = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != MUTABLE || kinds.is_some() {
                return Err(de::Error::unknown_field(&key, &[MUTABLE]));
            }
            kinds = Some(map.next_value()?);
        }
        kinds.map(BindingKind::Mutable).ok_or_else(|| de::Error::missing_field(MUTABLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BindingLayout;
    use ResourceKind as K;

    #[test]
    fn halves_are_combined_and_other_mixtures_mutable() {
        let of = |kinds: &[K]| BindingKind::of_uses(kinds.iter().copied());
        let mutable = |kinds: &[K]| BindingKind::Mutable(kinds.iter().copied().collect());
        assert_eq!(of(&[K::Sampler, K::Sampler]), BindingKind::One(K::Sampler));
        for combined in [
            &[K::Sampler, K::SampledImage][..],
            &[K::CombinedImageSampler, K::Sampler],
            &[K::SampledImage, K::CombinedImageSampler],
            &[K::SampledImage, K::CombinedImageSampler, K::Sampler],
        ] {
            assert_eq!(of(combined), BindingKind::One(K::CombinedImageSampler));
        }
        let both = [K::UniformBuffer, K::StorageBuffer];
        assert_eq!(of(&both), mutable(&both));
        assert_eq!(of(&[K::SampledImage, K::StorageBuffer]), mutable(&[K::SampledImage, K::StorageBuffer]));
        let heap = [K::Sampler, K::UniformTexelBuffer, K::SampledImage];
        assert_eq!(of(&heap), mutable(&[K::CombinedImageSampler, K::UniformTexelBuffer]));
        assert!(
            of(&heap).serves(K::Sampler) && of(&heap).serves(K::SampledImage) && !of(&heap).serves(K::StorageImage)
        );
    }

    #[test]
    fn kinds_are_names_or_a_list_in_files_and_messages() {
        let heap = BindingKind::Mutable(KindSet::of(&[K::StorageBuffer, K::SampledImage]));
        for kind in [BindingKind::One(K::StorageImage), heap] {
            let layout =
                BindingLayout { binding: 3, kind, count: 2, dynamic: false, offset: Some(8), samplers: Vec::new() };
            let bytes = rmp_serde::to_vec_named(&layout).unwrap();
            assert_eq!(rmp_serde::from_slice::<BindingLayout>(&bytes).unwrap(), layout);
            let text = toml::to_string_pretty(&layout).unwrap();
            assert_eq!(toml::from_str::<BindingLayout>(&text).unwrap(), layout);
        }
        let read = |kind: &str| toml::from_str::<BindingLayout>(&format!("binding = 0\nkind = {kind}"));
        assert_eq!(read("{ mutable = [\"sampled_image\", \"storage_buffer\"] }").unwrap().kind, heap);
        for (kind, says) in [
            ("\"texture\"", "unknown variant `texture`"),
            ("{ kinds = [] }", "unknown field `kinds`"),
            ("{ mutable = [\"texture\"] }", "unknown variant `texture`"),
            ("{}", "missing field `mutable`"),
            ("3", "expected a kind of descriptor"),
        ] {
            let why = read(kind).unwrap_err().to_string();
            assert!(why.contains(says) && why.contains("line 2"), "{why}");
        }
    }
}
