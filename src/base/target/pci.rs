//! GPUs by the number of their PCI device.
//!
//! Sources: Linux, `amdgpu_drv.c` (`pciidlist`, for RDNA 1 and 2); AMD's `GPUOpen-Tools/device_info`, `DeviceInfo.cpp`,
//! for gfx1036 and gfx11. Where both have a number, Linux's GPU. Newer kernels read what a device is from itself; a driver
//! that can ask the kernel for the version of the graphics core uses [`Gpu::of_graphics_core`], which knows devices of
//! tomorrow.

use super::Gpu;

/// AMD.
const VENDOR: u32 = 0x1002;

/// Numbers of devices.
const DEVICES: &[(Gpu, &[u16])] = &[
    (Gpu::Gfx1010, &[0x7310, 0x7312, 0x7318, 0x7319, 0x731a, 0x731b, 0x731e, 0x731f]),
    (Gpu::Gfx1011, &[0x7360, 0x7362]),
    (Gpu::Gfx1012, &[0x7340, 0x7341, 0x7347, 0x734f]),
    (Gpu::Gfx1013, &[0x13db, 0x13f9, 0x13fa, 0x13fb, 0x13fc, 0x13fe, 0x143f]),
    (
        Gpu::Gfx1030,
        &[0x73a0, 0x73a1, 0x73a2, 0x73a3, 0x73a5, 0x73a8, 0x73a9, 0x73ab, 0x73ac, 0x73ad, 0x73ae, 0x73af, 0x73bf],
    ),
    (Gpu::Gfx1031, &[0x73c0, 0x73c1, 0x73c3, 0x73da, 0x73db, 0x73dc, 0x73dd, 0x73de, 0x73df]),
    (Gpu::Gfx1032, &[0x73e0, 0x73e1, 0x73e2, 0x73e3, 0x73e8, 0x73e9, 0x73ea, 0x73eb, 0x73ec, 0x73ed, 0x73ef, 0x73ff]),
    (Gpu::Gfx1033, &[0x163f]),
    (Gpu::Gfx1034, &[0x7420, 0x7421, 0x7422, 0x7423, 0x7424, 0x743f]),
    (Gpu::Gfx1035, &[0x164d, 0x1681]),
    (Gpu::Gfx1036, &[0x13c0, 0x164e]),
    (Gpu::Gfx1100, &[0x7448, 0x7449, 0x744a, 0x744b, 0x744c, 0x745e]),
    (Gpu::Gfx1101, &[0x73c4, 0x73c5, 0x73c8, 0x7460, 0x7461, 0x7470, 0x7478, 0x747e]),
    (Gpu::Gfx1102, &[0x73f0, 0x7480, 0x7481, 0x7483, 0x7487, 0x7489, 0x748b, 0x7499]),
    (Gpu::Gfx1103, &[0x15bf, 0x15c8, 0x1900, 0x1901]),
    (Gpu::Gfx1150, &[0x150e]),
    (Gpu::Gfx1151, &[0x1586]),
    (Gpu::Gfx1152, &[0x1114]),
    (Gpu::Gfx1153, &[0x1902]),
    (Gpu::Gfx1200, &[0x7590]),
    (Gpu::Gfx1201, &[0x7550, 0x7551]),
];

impl Gpu {
    /// The GPU of a PCI device, by the numbers of its vendor and of itself.
    pub fn of_pci(vendor: u32, device: u32) -> Option<Self> {
        let device = u16::try_from(device).ok().filter(|_| vendor == VENDOR)?;
        DEVICES.iter().find(|(_, devices)| devices.contains(&device)).map(|(gpu, _)| *gpu)
    }

    /// The GPU of a PCI device as `lspci -n` and `/sys` write it: `1002:73bf`.
    pub(super) fn of_pci_name(name: &str) -> Option<Self> {
        let (vendor, device) = name.split_once(':')?;
        let number = |digits: &str| u32::from_str_radix(digits.trim_start_matches("0x"), 16).ok();
        Self::of_pci(number(vendor)?, number(device)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_gpu_has_devices_and_every_device_is_one_gpu() {
        assert!(Gpu::all().all(|gpu| DEVICES.iter().any(|(one, devices)| *one == gpu && !devices.is_empty())));
        let all: Vec<u16> = DEVICES.iter().flat_map(|(_, devices)| devices.iter().copied()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn devices_are_found_by_number_and_by_name() {
        assert_eq!(Gpu::of_pci(0x1002, 0x73bf), Some(Gpu::Gfx1030));
        assert_eq!(Gpu::of_pci(0x1002, 0x744c), Some(Gpu::Gfx1100));
        // Of another vendor; of Vega; no number of a device.
        assert_eq!([(0x10de, 0x73bf), (0x1002, 0x687f), (0x1002, 0x1_73bf)].map(|(v, d)| Gpu::of_pci(v, d)), [None; 3]);
        assert_eq!(Gpu::named("1002:163f"), Ok(vec![Gpu::Gfx1033]));
        assert_eq!(Gpu::named("0x1002:0x163F"), Ok(vec![Gpu::Gfx1033]));
        let refused = Gpu::named("1002:687f").expect_err("Vega").to_string();
        assert!(refused.contains("1002:687f"), "{refused}");
    }
}
