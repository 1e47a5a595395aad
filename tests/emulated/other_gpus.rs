//! The cases of [`compute_cases`](crate::compute_cases) on other GPUs than the one that all other tests use.

use crate::compute_cases::coverage;
use dovetail::target::{Gpu, WaveSize};

#[test]
fn coverage_cases_agree_on_gfx1010() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1010", Gpu::Gfx1010, WaveSize::W64);
}

#[test]
fn coverage_cases_agree_on_gfx1100_in_waves_of_32() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1100_in_waves_of_32", Gpu::Gfx1100, WaveSize::W32);
}

#[test]
fn coverage_cases_agree_on_gfx1102_in_waves_of_64() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1102_in_waves_of_64", Gpu::Gfx1102, WaveSize::W64);
}

#[test]
fn coverage_cases_agree_on_gfx1150_in_waves_of_32() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1150_in_waves_of_32", Gpu::Gfx1150, WaveSize::W32);
}

#[test]
fn coverage_cases_agree_on_gfx1200_in_waves_of_32() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1200_in_waves_of_32", Gpu::Gfx1200, WaveSize::W32);
}

#[test]
fn coverage_cases_agree_on_gfx1201_in_waves_of_64() {
    coverage("other_gpus::coverage_cases_agree_on_gfx1201_in_waves_of_64", Gpu::Gfx1201, WaveSize::W64);
}
