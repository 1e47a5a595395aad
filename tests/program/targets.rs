//! Several GPUs: what a cache gets for each, and that its pipelines are that GPU's.

use crate::command::{LINK, dovetail, folder, glsl, good, refused};
use dovetail::target::Gpu;
use dovetail_testing as support;
use std::collections::BTreeMap;
use std::fs;

/// The bytes of the section `.text`.
fn text(elf: &[u8]) -> Vec<u8> {
    use object::read::elf::ElfFile64;
    use object::{LittleEndian, Object, ObjectSection};
    let file = ElfFile64::<LittleEndian>::parse(elf).expect("an ELF");
    file.section_by_name(".text").expect("code").data().expect("bytes").to_vec()
}

#[test]
fn one_populate_for_several_gpus_stores_what_one_for_each_does() {
    let dir = folder();
    let draw: Vec<Gpu> = Gpu::all().collect();
    let all: Vec<&str> = draw.iter().map(|gpu| gpu.name()).collect();
    let shaders = ["populate", "ui.vert.spv", "ui.frag.spv", "--json"];
    let list = all.join(",");
    let together = [&shaders[..], &["--cache", "c", "--target", &list]].concat();
    let report: serde_json::Value = serde_json::from_str(&good(dir.path(), &together)).expect("JSON");
    assert_eq!(report["counts"]["compiled"], 2 * all.len(), "{report}");
    let names: Vec<&str> =
        report["shaders"].as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("ui.frag") && name.ends_with(" [gfx1033]")), "{names:?}");
    let mut code = BTreeMap::new();
    for gpu in draw {
        let name = gpu.name();
        let own = [&shaders[..], &["--cache", name, "--target", name]].concat();
        good(dir.path(), &own);
        let mut made = Vec::new();
        for cache in ["c", name] {
            let link = [&LINK[..7], &["--cache", cache, "--target", name, "--no-compile", "-o", "p.elf"]].concat();
            assert!(good(dir.path(), &link).starts_with("linked "), "{name}");
            made.push(fs::read(dir.path().join("p.elf")).expect("an ELF"));
        }
        assert!(made[0] == made[1], "{name}");
        assert_eq!(Gpu::of_elf(&made[0]), Ok(gpu));
        good(dir.path(), &["verify", "--code", "p.elf"]);
        let listing = good(dir.path(), &["inspect", "p.elf"]);
        assert!(listing.contains(name) && listing.contains("s_endpgm"), "{listing}");
        let own = text(&made[0]);
        assert!(*code.entry(gpu.instructions()).or_insert_with(|| own.clone()) == own, "{name}");
    }
}

#[test]
fn every_gpu_gets_compute_code_of_its_own() {
    let (dir, test) = (folder(), "every_gpu_gets_compute_code_of_its_own");
    let source = "#version 450
        layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;
        layout(set = 0, binding = 0) buffer B { uint x[]; };
        void main() {
            uint kept[40];
            for (uint n = 0; n < 40; n++) kept[n] = x[n] * gl_LocalInvocationID.y;
            atomicAdd(x[gl_LocalInvocationIndex], kept[x[gl_LocalInvocationID.z] % 40]);
        }";
    let Some(()) = glsl(test, dir.path(), "ids.comp", source) else { return };
    good(dir.path(), &["populate", "ids.comp.spv", "--cache", "c", "--target", "all"]);
    good(dir.path(), &["state", "template", "ids.comp.spv", "-o", "cs.toml"]);
    let mut code = BTreeMap::new();
    for gpu in Gpu::all() {
        let name = gpu.name();
        let link = ["link", "--cs", "ids.comp.spv", "--state", "cs.toml", "--cache", "c", "--no-compile"];
        good(dir.path(), &[&link[..], &["--target", name, "-o", "p.elf"]].concat());
        good(dir.path(), &["verify", "--code", "p.elf"]);
        let elf = fs::read(dir.path().join("p.elf")).expect("an ELF");
        assert_eq!(Gpu::of_elf(&elf), Ok(gpu));
        let own = text(&elf);
        assert!(*code.entry(gpu.instructions()).or_insert_with(|| own.clone()) == own, "{name}");
        // Scratch memory: by a descriptor, or by instructions of its own.
        let listing = good(dir.path(), &["inspect", "p.elf"]);
        let [by_descriptor, by_base] = ["buffer_store_dword", "scratch_store_b32"].map(|op| listing.contains(op));
        assert!(by_descriptor != by_base && by_base == gpu.facts().packed_local_ids, "{name}: {listing}");
        let llvm = ["compile", "ids.comp.spv", "--backend", "llvm", "--target", name, "-o", "c.o"];
        match (cfg!(feature = "llvm"), gpu.facts().workgroup_ids_apart) {
            (true, false) => drop(good(dir.path(), &llvm)),
            (true, true) => assert!(refused(dir.path(), &llvm, 3).contains("LLVM: code for gfx12")),
            (false, _) => {}
        }
        let numbered = [&link[..], &["--target", name, "--metadata", "2", "-o", "p.elf"]].concat();
        match gpu.facts().numbered_metadata {
            true => drop(good(dir.path(), &numbered)),
            false => assert!(refused(dir.path(), &numbered, 3).contains("its drivers read 3 only")),
        }
    }
}

#[test]
fn a_stage_that_no_code_is_made_for_is_refused_by_name() {
    let dir = folder();
    let llvm = ["compile", "ui.vert.spv", "--backend", "llvm", "--target", "gfx1100", "-o", "v.o"];
    let said = refused(dir.path(), &llvm, 3);
    assert!(said.contains("LLVM: vertex shaders for gfx1100"), "{said}");
}

#[test]
fn fragments_get_the_wave_size_that_is_usual_for_their_gpu() {
    let dir = folder();
    // The link finds what populate has stored for both.
    good(dir.path(), &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c", "--target", "gfx1030,gfx1100"]);
    for (gpu, usual) in [("gfx1030", "64"), ("gfx1100", "32")] {
        good(dir.path(), &["compile", "ui.frag.spv", "--target", gpu, "-o", "f.o"]);
        let listing = good(dir.path(), &["inspect", "f.o"]);
        assert!(listing.contains(&format!("\"wave\": {usual}")), "{listing}");
        good(dir.path(), &[&LINK[..], &["--target", gpu, "--no-compile", "-o", "p.elf"]].concat());
    }
}

#[test]
fn a_part_of_another_gpu_is_missing_and_the_command_names_the_gpu() {
    let dir = folder();
    good(dir.path(), &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c"]);
    let link = [&LINK[..], &["--target", "gfx1034", "--no-compile", "-o", "p.elf"]].concat();
    let said = refused(dir.path(), &link, 4);
    assert!(said.contains("--cache c --target gfx1034` adds it"), "{said}");
}

#[test]
fn an_unknown_gpu_is_refused_with_the_known_ones() {
    let dir = folder();
    let out = dovetail(dir.path(), &["populate", "ui.vert.spv", "--cache", "c", "--target", "gfx1030,gfx900"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("gfx900") && said.contains("gfx1036"), "{said}");
}

#[test]
fn other_bits_of_the_flags_do_not_hide_the_gpu() {
    let dir = folder();
    good(dir.path(), &[&LINK[..], &["--target", "gfx1033", "-o", "p.elf"]].concat());
    let mut elf = fs::read(dir.path().join("p.elf")).expect("an ELF");
    // Bits 8 and 9 of e_flags say how XNACK was compiled for.
    elf[49] |= 1;
    fs::write(dir.path().join("p.elf"), elf).expect("an ELF");
    let listing = good(dir.path(), &["inspect", "p.elf"]);
    assert!(listing.contains("for gfx1033") && listing.contains("s_endpgm"), "{listing}");
}

/// LLVM IR of a pixel shader.
const PIXELS: &str = "
define amdgpu_ps <4 x float> @_amdgpu_ps_main(float inreg %i, <2 x float> %ij, i32 inreg %m, half %h) {
  %a = extractelement <2 x float> %ij, i32 0
  %b = extractelement <2 x float> %ij, i32 1
  %p = call float @llvm.amdgcn.lds.param.load(i32 0, i32 0, i32 %m)
  %p1 = call float @llvm.amdgcn.interp.inreg.p10(float %p, float %a, float %p)
  %p2 = call float @llvm.amdgcn.interp.inreg.p2(float %p, float %b, float %p1)
  %hh = fadd half %h, %h
  %hf = fpext half %hh to float
  %s = call float @llvm.sqrt.f32(float %a)
  %r0 = insertelement <4 x float> poison, float %p2, i32 0
  %r1 = insertelement <4 x float> %r0, float %hf, i32 1
  %r2 = insertelement <4 x float> %r1, float %s, i32 2
  %r3 = insertelement <4 x float> %r2, float %i, i32 3
  ret <4 x float> %r3
}
declare float @llvm.amdgcn.lds.param.load(i32, i32, i32)
declare float @llvm.amdgcn.interp.inreg.p10(float, float, float)
declare float @llvm.amdgcn.interp.inreg.p2(float, float, float)
declare float @llvm.sqrt.f32(float)
";

#[test]
fn a_vertex_shader_alone_is_a_pipeline_of_every_family() {
    let dir = folder();
    good(dir.path(), &["state", "template", "ui.vert.spv", "-o", "alone.toml"]);
    for gpu in ["gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200"] {
        good(dir.path(), &["link", "--vs", "ui.vert.spv", "--state", "alone.toml", "--target", gpu, "-o", "p.elf"]);
        good(dir.path(), &["verify", "--code", "p.elf"]);
    }
}

#[test]
fn code_of_another_compiler_is_listed() {
    let dir = folder();
    let test = "code_of_another_compiler_is_listed";
    let Some(llc) = support::tool(test, "llc-22") else { return };
    // Without a choice LLVM writes no halves of registers for gfx12.
    for (gpu, half, load) in [
        ("gfx1100", ".l", "lds_param_load v"),
        ("gfx1103", ".l", "lds_param_load v"),
        ("gfx1150", ".l", "lds_param_load v"),
        ("gfx1153", ".l", "lds_param_load v"),
        ("gfx1200", "", "ds_param_load v"),
        ("gfx1201", "", "ds_param_load v"),
    ] {
        let arguments = ["-mtriple=amdgcn--amdpal", &format!("-mcpu={gpu}"), "-filetype=obj", "-o", "-", "-"];
        let made = llc.output(&arguments, PIXELS.as_bytes());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(dir.path().join("p.elf"), made.stdout).expect("an ELF");
        let listing = good(dir.path(), &["inspect", "p.elf"]);
        let sum = format!("v_add_f16_e32 v2{half}, v2{half}, v2{half}");
        for part in [gpu, load, "v_interp_p10_f32 v", &sum, "s_delay_alu instid0("] {
            assert!(listing.contains(part), "{part}: {listing}");
        }
        assert!(!listing.contains(".long"), "{listing}");
        let json = good(dir.path(), &["inspect", "p.elf", "--json", "--no-code"]);
        assert!(json.contains(&format!("\"{gpu}\"")), "{json}");
        let out = dovetail(dir.path(), &["verify", "--code", "p.elf"]);
        assert!(!out.status.success(), "{gpu}: LLVM's object is no pipeline");
    }
}
