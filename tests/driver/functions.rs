//! Several functions in one part: what the body calls is linked after the parts that run one after the other, and the calls reach
//! it in both placements.

use crate::by_hand::assemble;
use crate::link_support::{self, vertex};
use dovetail::compile::backend::{FunctionSymbol, MachineCode, Patch, PatchTarget};
use dovetail::compile::unlinked;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::emu::{self, RunLimits};
use dovetail::isa::{Isa, Op, disassemble};
use dovetail::link::{EmitGlue, Object, Placement, link, verify};
use dovetail::metadata::interface::{ComputeInterface, StageInterface, StageKind, UserData};
use dovetail::metadata::registers::{COMPUTE_PGM_RSRC1, COMPUTE_PGM_RSRC2};
use dovetail::metadata::schema::MetadataKey;
use dovetail::reloc::kind::RelocKind;
use dovetail::state::{BindingLayout, PipelineState, SetLayout};
use dovetail::target::{Gpu, Stage, WaveSize};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// Where the low and the high half of a distance go; their addends are the distances of the literals from the address that
/// `s_getpc_b64` gives.
const LOW: u32 = 0x7777_0004;
const HIGH: u32 = 0x7777_000c;

/// Writes a global invocation's number to a buffer, through a function that calls another one.
const BODY: &str = "
    s_getpc_b64 s[8:9]
    s_mov_b32 s8, s2
    s_load_dwordx4 s[12:15], s[8:9], 0x0
    v_mov_b32 v3, v0
    s_getpc_b64 s[16:17]
    s_add_u32 s16, s16, 0x77770004
    s_addc_u32 s17, s17, 0x7777000c
    s_swappc_b64 s[18:19], s[16:17]
    v_lshlrev_b32 v2, 2, v0
    s_waitcnt lgkmcnt(0)
    buffer_store_dword v3, v2, s[12:15], 0 offen
    s_endpgm";
/// 3 x + 1, of what the other function gives.
const OUTER: &str = "
    s_mov_b64 s[20:21], s[18:19]
    s_getpc_b64 s[16:17]
    s_add_u32 s16, s16, 0x77770004
    s_addc_u32 s17, s17, 0x7777000c
    s_swappc_b64 s[18:19], s[16:17]
    v_lshl_add_u32 v3, v3, 1, v3
    v_add_nc_u32 v3, 1, v3
    s_setpc_b64 s[20:21]";
/// x + 100
const INNER: &str = "
    v_add_nc_u32 v3, 100, v3
    s_setpc_b64 s[18:19]";

fn words(text: &str) -> Option<Vec<u32>> {
    assemble("functions", WaveSize::W32, text).map(|assembled| assembled.words)
}

/// Machine code of functions, each with the number of the one that it calls.
fn code(functions: &[(&str, Vec<u32>, Option<usize>)]) -> MachineCode {
    let mut out = MachineCode::new(Gpu::Gfx1030.family());
    for (symbol, words, callee) in functions {
        let start = out.code.len() as u32;
        for word in words {
            let offset = out.code.len() as u32;
            let half = [(LOW, RelocKind::Rel32Lo), (HIGH, RelocKind::Rel32Hi)].into_iter().find(|half| half.0 == *word);
            if let (Some((_, kind)), Some(callee)) = (half, callee) {
                out.patches.push(Patch { offset, kind, target: PatchTarget::Function(*callee) });
            }
            // The addend is in place.
            out.code.extend(if half.is_some() { word & 0xffff } else { *word }.to_le_bytes());
        }
        out.functions.push(FunctionSymbol { symbol: (*symbol).to_owned(), start, size: 4 * words.len() as u32 });
    }
    out.counts.insert(MetadataKey::SgprCount, 24);
    out.counts.insert(MetadataKey::VgprCount, 8);
    out.counts.insert(MetadataKey::ScratchMemorySize, 0);
    out
}

fn compute() -> StageInterface {
    StageInterface {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        wave: WaveSize::W32,
        entry_point: "main".into(),
        prolog: false,
        epilog: false,
        entry_sgprs: 6,
        user_data: vec![UserData::GlobalTable, UserData::PerShaderTable, UserData::DescriptorSet(0)],
        resources: vec![],
        push_constant_bytes: 0,
        spill_threshold: None,
        specialization: vec![],
        spec_operands: vec![],
        writes_memory: true,
        kind: StageKind::Compute(ComputeInterface { local_size: [32, 1, 1], tidig_comp_cnt: 0, lds_bytes: 0 }),
    }
}

fn buffer_state() -> PipelineState {
    let kind = dovetail::kinds::ResourceKind::StorageBuffer.into();
    let binding = BindingLayout { binding: 0, kind, count: 1, dynamic: false, offset: None, samplers: vec![] };
    let mut state = PipelineState::default();
    state.layout.sets = vec![SetLayout { set: 0, root: None, bindings: vec![binding] }];
    state
}

#[test]
fn functions_of_a_part_call_each_other() {
    let [Some(body), Some(outer), Some(inner)] = [BODY, OUTER, INNER].map(words) else { return };
    let mut code = code(&[("_amdgpu_cs_main", body, Some(1)), ("outer", outer, Some(2)), ("inner", inner, None)]);
    code.registers.set(COMPUTE_PGM_RSRC1, 0x602c_0000).expect("a word");
    code.registers.set(COMPUTE_PGM_RSRC2, 0).expect("a word");
    let part = unlinked::write(code, compute()).expect("an unlinked ELF");
    let state = buffer_state();
    let buffer = Bound::StorageBuffer(InputBytes(vec![0; 128]));
    let element = BindingElement { set: 0, binding: 0, element: 0, bound: buffer };
    let inputs = Inputs { grid: [1, 1, 1], bindings: vec![element], ..Inputs::default() };
    for placement in [Placement::Adjacent, Placement::Chained] {
        let elf = link(&[&part.0], &state, placement, &EmitGlue).expect("a pipeline");
        let report = verify(&elf).expect("an ELF");
        assert!(report.is_ok(), "{:?}", report.violations);
        let file = object::File::parse(&*elf).expect("an object");
        assert_eq!(file.symbols().filter(|s| ["outer", "inner"].contains(&s.name().expect("a name"))).count(), 2);
        let left = emu::run(&elf, &state.layout, &inputs, RunLimits::default()).expect("runs").bindings;
        let numbers: Vec<u32> = left[0].as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(numbers, (0..32).map(|n| 3 * (n + 100) + 1).collect::<Vec<u32>>());
    }
}

#[test]
fn a_function_comes_after_the_parts_that_run() {
    let [Some(inner), Some(body)] =
        [INNER, "s_getpc_b64 s[16:17]\ns_add_u32 s16, s16, 0x77770004\nv_mov_b32 v0, 0"].map(words)
    else {
        return;
    };
    let interface = StageInterface { prolog: false, ..vertex().interface };
    let mut code = code(&[("_amdgpu_vs_main", body, Some(1)), ("inner", inner, None)]);
    let own = link_support::vertex();
    for (number, word) in own.registers {
        let register = dovetail::metadata::registers::HardwareRegister::of_number(Gpu::Gfx1030.family(), number);
        code.registers.set(register.expect("a register"), word).expect("a word");
    }
    let part = unlinked::write(code, interface).expect("an unlinked ELF");
    let fragment = link_support::fragment().build();
    for placement in [Placement::Adjacent, Placement::Chained] {
        let elf = link(&[&part.0, &fragment], &link_support::state(), placement, &EmitGlue).expect("a pipeline");
        let file = object::File::parse(&*elf).expect("an object");
        let at = |name| file.symbols().find(|s| s.name() == Ok(name)).expect("a symbol").address();
        let text = file.section_by_name(".text").expect("code").data().expect("bytes");
        let words: Vec<u32> = text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let body = at("_amdgpu_vs_main");
        let add = disassemble(Isa::of(Gpu::Gfx1030), &words[body as usize / 4 + 1..]).expect("an instruction");
        assert_eq!(add.entry.op, Op::SAddU32);
        assert_eq!(body + 4 + u64::from(words[body as usize / 4 + 2]), at("inner"));
        assert!(at("inner") > body, "after the body");
    }
}

#[test]
fn addresses_of_code_and_overlapping_functions_are_refused() {
    let [Some(inner), Some(body)] = [INNER, "s_mov_b32 s4, 0x77770004\ns_endpgm"].map(words) else { return };
    let made = |change: &dyn Fn(&mut MachineCode)| {
        let mut code = code(&[("_amdgpu_cs_main", body.clone(), Some(1)), ("inner", inner.clone(), None)]);
        change(&mut code);
        let part = unlinked::write(code, compute()).expect("an unlinked ELF");
        Object::parse(&part.0).map(|_| ()).expect_err("refused").to_string()
    };
    let absolute = made(&|code| code.patches[0].kind = RelocKind::Abs32Lo);
    assert!(absolute.contains("R_AMDGPU_ABS32_LO against code") && absolute.contains("inner"), "{absolute}");
    let overlapping = made(&|code| code.functions[1].start -= 4);
    assert!(overlapping.contains("function `inner`"), "{overlapping}");
    let outside = made(&|code| code.functions[1].size += 4);
    assert!(outside.contains("function `inner`"), "{outside}");
}
