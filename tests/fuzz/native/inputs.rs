//! Resources that the shaders read and write: the same bindings for all shaders.

use super::super::random::Random;
use super::setup::Setup;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs, Slot, StoredPointer};
use dovetail::ir::{Name, Resource, ResourceKind, Shader};

/// Size in bytes of the uniform buffer and of each read-only buffer.
pub const READ: u32 = 512;
/// Bytes owned by each lane in buffers that it reads and writes.
pub const OWN: u32 = 64;
/// Size in bytes of the buffer for atomics.
pub const SHARED: u32 = 64;
/// Dwords of push constants before the two addresses.
pub const PUSHED: u32 = 6;
/// Length of the array of buffers.
pub const ELEMENTS: u32 = 4;

/// Bindings of set 0, equal to the resource indices.
pub const UNIFORM: u32 = 0;
pub const READ_ONLY: u32 = 1;
pub const OUT: u32 = 2;
pub const PRIVATE: u32 = 3;
pub const ATOMICS: u32 = 4;
pub const ARRAY: u32 = 5;
/// Buffers in which each lane has bytes to itself.
pub const OWN_ARRAY: u32 = 6;
const BY_ADDRESS: u32 = 7;
const OWN_BY_ADDRESS: u32 = 8;

/// Declares the resources.
pub fn declare(shader: &mut Shader) {
    let all = [
        (ResourceKind::UniformBuffer, 1, false),
        (ResourceKind::StorageBuffer, 1, false),
        (ResourceKind::StorageBuffer, 1, true),
        (ResourceKind::StorageBuffer, 1, true),
        (ResourceKind::StorageBuffer, 1, true),
        (ResourceKind::StorageBuffer, ELEMENTS, false),
        (ResourceKind::StorageBuffer, ELEMENTS, true),
    ];
    for (binding, (kind, count, written)) in (0..).zip(all) {
        let name = Name::from(format!("b{binding}").as_str());
        shader.resources.push(Resource { name, set: 0, binding, kind, count: Some(count), written });
    }
    shader.push_constant_bytes = 4 * PUSHED + 16;
}

/// Contents of the resources for a shader.
pub fn inputs(shader: &Shader, setup: &Setup) -> Inputs {
    let lanes = match &setup.scene {
        Some(scene) => scene.fragments().max(1),
        None => shader.modes.local_size.iter().map(|n| n.max(&1)).product::<u32>().min(1024) * setup.groups,
    };
    let mut random = Random::new(setup.seed, 0x1a7e);
    // Half of the values are small numbers and flags, so that branches go both ways.
    let mut bytes = |count: u32| {
        let mut out = Vec::new();
        for _ in 0..count / 4 {
            let word = random.next() as u32;
            let word = match random.below(4) {
                0 => word & 7,
                1 => 0u32.wrapping_sub(word & 3),
                2 => word & 0x00ff_00ff,
                _ => word,
            };
            out.extend_from_slice(&word.to_le_bytes());
        }
        InputBytes(out)
    };
    let slot = |binding, element| Slot { set: 0, binding, element };
    let own = lanes * OWN;
    let mut bindings = vec![
        (UNIFORM, 0, Bound::UniformBuffer(bytes(READ))),
        (READ_ONLY, 0, Bound::StorageBuffer(bytes(READ))),
        (OUT, 0, Bound::StorageBuffer(InputBytes(vec![0; own as usize]))),
        (PRIVATE, 0, Bound::StorageBuffer(bytes(own))),
        (ATOMICS, 0, Bound::StorageBuffer(bytes(SHARED))),
    ];
    for element in 0..ELEMENTS {
        bindings.push((ARRAY, element, Bound::StorageBuffer(bytes(READ))));
    }
    // Cases that are kept may be older.
    if shader.resources.iter().any(|resource| resource.binding == OWN_ARRAY) {
        bindings.extend((0..ELEMENTS).map(|element| (OWN_ARRAY, element, Bound::StorageBuffer(bytes(own)))));
    }
    bindings.push((BY_ADDRESS, 0, Bound::PhysicalStorageBuffer(bytes(READ))));
    bindings.push((OWN_BY_ADDRESS, 0, Bound::PhysicalStorageBuffer(bytes(own))));
    let bindings = bindings
        .into_iter()
        .map(|(binding, element, bound)| BindingElement { set: 0, binding, element, bound })
        .collect();
    let pointer = |n: u32, to| StoredPointer { within: None, byte: 4 * PUSHED + 8 * n, to: slot(to, 0), offset: 0 };
    Inputs {
        bindings,
        push_constants: bytes(4 * PUSHED + 16),
        pointers: vec![pointer(0, BY_ADDRESS), pointer(1, OWN_BY_ADDRESS)],
        grid: [setup.groups, 1, 1],
        draw: setup.scene.as_ref().map(|scene| scene.draw(shader, setup)),
        ..Inputs::default()
    }
}
