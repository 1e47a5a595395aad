//! What one generator does not support, it may without unrolling loops, or another one may compile it.

use crate::assembly::assemble;
use crate::limits::request;
use crate::shapes::memory_in_turn;
use dovetail::compile::Compiler;
use dovetail::compile::backend::{Generator, MachineCode};
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::native::Native;
use dovetail::compile::passes::LoweredShader;
use dovetail::compile::request::{GeneratorKind, Module, StageRequest, TuningOptions};
use dovetail::compile::unlinked::Remarks;
use dovetail::error::{Error, ErrorKind, Result};
use dovetail::ir::watch::Watch;
use dovetail::metadata::interface::StageInterface;
use dovetail::target::{Stage, WaveSize};

/// Refuses everything as the native generator, for this reason, and is the native generator as LLVM, if it takes over.
struct Refusing {
    reason: fn() -> Error,
    takes_over: bool,
}

impl Generator for Refusing {
    fn name(&self) -> String {
        "refusing".to_owned()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        match options.generator {
            GeneratorKind::Native => Err((self.reason)()),
            GeneratorKind::Llvm => Native.generate(shader, interface, options, watch),
        }
    }

    fn fallbacks(&self, options: &TuningOptions) -> Vec<TuningOptions> {
        let other = self.takes_over.then(|| TuningOptions { generator: GeneratorKind::Llvm, ..options.clone() });
        other.into_iter().collect()
    }
}

fn compiled(reason: fn() -> Error, takes_over: bool) -> Result<Remarks> {
    let module = Module::new(memory_in_turn(2)).expect("a module");
    Remarks::of(&StageCompiler::with(Refusing { reason, takes_over }).compile(&module, &request(&module, Vec::new()))?)
}

#[test]
fn only_what_is_not_supported_goes_to_the_next_generator_and_the_code_says_so() {
    let unsupported = || Error::unsupported("a feature", "of a test");
    let remarks = compiled(unsupported, true).expect("code of the other generator");
    assert_eq!(remarks.fallback.as_deref(), Some("a feature"));
    let refused = compiled(unsupported, false).expect_err("nothing takes over");
    assert!(matches!(refused.kind(), ErrorKind::Unsupported { .. }), "{refused}");
    let broken = compiled(|| Error::bug("a bug"), true).expect_err("a bug is not hidden");
    assert!(matches!(broken.kind(), ErrorKind::Bug(_)), "{broken}");
}

/// 61 iterations, the last of which leave the array as it is, and the condition of each is used after the loop: unrolled,
/// it has more masks than there are registers.
#[test]
fn a_loop_that_unrolls_to_too_many_masks_stays_a_loop() {
    let source = "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint Fragment %main \"main\" %position %color
        OpExecutionMode %main OriginUpperLeft
        OpDecorate %position BuiltIn FragCoord
        OpDecorate %color Location 0
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %int = OpTypeInt 32 1
        %u32 = OpTypeInt 32 0
        %float = OpTypeFloat 32
        %v4 = OpTypeVector %float 4
        %n0 = OpConstant %int 0
        %n1 = OpConstant %int 1
        %n60 = OpConstant %int 60
        %n50 = OpConstant %u32 50
        %n512 = OpConstant %int 512
        %f1 = OpConstant %float 1
        %f64 = OpConstant %float 64
        %array = OpTypeArray %float %n50
        %to_array = OpTypePointer Function %array
        %to_local = OpTypePointer Function %float
        %to_v4_in = OpTypePointer Input %v4
        %to_float_in = OpTypePointer Input %float
        %to_v4_out = OpTypePointer Output %v4
        %position = OpVariable %to_v4_in Input
        %color = OpVariable %to_v4_out Output
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %local = OpVariable %to_array Function
        OpBranch %loop
        %loop = OpLabel
        %i = OpPhi %int %n0 %entry %next %again
        OpLoopMerge %end %again None
        OpBranch %body
        %body = OpLabel
        %at = OpAccessChain %to_float_in %position %n0
        %x = OpLoad %float %at
        %whole = OpConvertFToS %int %x
        %right = OpSLessThan %bool %n512 %whole
        OpSelectionMerge %store None
        OpBranchConditional %right %store %leave
        %leave = OpLabel
        OpBranch %end
        %store = OpLabel
        %to = OpAccessChain %to_local %local %i
        OpStore %to %f64
        %next = OpIAdd %int %i %n1
        OpBranch %again
        %again = OpLabel
        %more = OpSLessThan %bool %i %n60
        OpBranchConditional %more %loop %end
        %end = OpLabel
        OpSelectionMerge %done None
        OpBranchConditional %right %write %done
        %write = OpLabel
        %from = OpAccessChain %to_local %local %n60
        %last = OpLoad %float %from Volatile
        %result = OpCompositeConstruct %v4 %f64 %last %f1 %f1
        OpStore %color %result
        OpBranch %done
        %done = OpLabel
        OpReturn
        OpFunctionEnd";
    let Some(module) = assemble("a_loop_that_unrolls_to_too_many_masks_stays_a_loop", source) else { return };
    let request = StageRequest { stage: Stage::Fragment, wave: WaveSize::W64, ..request(&module, Vec::new()) };
    StageCompiler::with(Native).compile(&module, &request).expect("code");
}
