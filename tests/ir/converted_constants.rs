//! `OpSpecConstantOp FConvert`: constants are rounded, and denormals flushed, as the entry point's modes say.

use crate::assembly::{assemble, assembly};
use crate::invocation::{run_lanes, shader};
use dovetail::target::Stage;

/// A conversion of a constant: types, the constant, and the bits of the result, of which 64 are two words.
type Case = (&'static str, &'static str, &'static str, &'static [u32]);

/// Runs the conversions with these capabilities and modes.
fn check(test: &str, modes: &[&str], decoration: &str, cases: &[Case]) {
    for &(from, to, constant, want) in cases {
        let wide = if to == "f64" { "v2u" } else { "u32" };
        let mut types = format!(
            "%u16 = OpTypeInt 16 0\n%f16 = OpTypeFloat 16\n%f32 = OpTypeFloat 32\n%f64 = OpTypeFloat 64
            %v2u = OpTypeVector %u32 2\n%x = OpSpecConstant %{from} {constant}\n%y = OpSpecConstantOp %{to} FConvert %x\n"
        );
        let bits = match to {
            "f16" => "%short = OpBitcast %u16 %y\n%bits = OpUConvert %u32 %short".to_owned(),
            _ => format!("%bits = OpBitcast %{wide} %y"),
        };
        let store = match to {
            "f64" => {
                "%low = OpCompositeExtract %u32 %bits 0\n%high = OpCompositeExtract %u32 %bits 1
                OpStore %to0 %low\nOpStore %to1 %high"
            }
            _ => "OpStore %to0 %bits",
        };
        types += "%w0 = OpConstant %u32 0\n%w1 = OpConstant %u32 1";
        let body = format!(
            "%entry = OpLabel\n{bits}\n%to0 = OpAccessChain %to_u32 %out %n0 %w0
            %to1 = OpAccessChain %to_u32 %out %n0 %w1\n{store}\nOpReturn"
        );
        let mut head = "OpCapability Float16\nOpCapability Float64\nOpCapability Int16\n".to_owned();
        for mode in modes {
            head += &format!("OpCapability {}\n", mode.split(' ').next().unwrap_or_default());
        }
        let mut after = String::new();
        for mode in modes {
            after += &format!("OpExecutionMode %main {mode}\n");
        }
        let source = assembly(&types, &body).replacen("OpCapability", &format!("{head}OpCapability"), 1);
        let source = source.replacen("OpDecorate", &format!("{after}{decoration}\nOpDecorate"), 1);
        let Some(module) = assemble(test, &source) else { return };
        let ir = shader(&module, Stage::Compute, &[]);
        let got = run_lanes(&ir, &[(0, vec![0; 7])], 32).0;
        assert_eq!(got[..want.len()], *want, "{from} {constant} to {to}, {modes:?} {decoration}");
    }
}

#[test]
fn constants_are_rounded_to_nearest_even() {
    let cases: &[Case] = &[
        ("f32", "f16", "1", &[0x3c00]),
        // 2049 is between 2048 and 2050, whose last bit is odd; 65520 is half a step beyond the largest half.
        ("f32", "f16", "2049", &[0x6800]),
        ("f32", "f16", "-2051", &[0xe802]),
        ("f32", "f16", "65519", &[0x7bff]),
        ("f32", "f16", "65520", &[0x7c00]),
        // 3 * 2^-25 is a tie of denormals.
        ("f32", "f16", "0x1.8p-24", &[2]),
        ("f16", "f32", "0x1.554p-2", &[0x3eaa_a000]),
        ("f16", "f64", "-2", &[0, 0xc000_0000]),
        ("f32", "f64", "1.5", &[0, 0x3ff8_0000]),
        // 1 + 2^-11 + 2^-40 is above a tie of halves, which a detour through 32 bits would forget.
        ("f64", "f16", "0x1.0020000001p+0", &[0x3c01]),
        ("f64", "f32", "0x1.000003p+0", &[0x3f80_0002]),
    ];
    check("constants_are_rounded_to_nearest_even", &[], "", cases);
    check("constants_are_rounded_to_nearest_even", &["RoundingModeRTZ 16"], "OpDecorate %y FPRoundingMode RTE", cases);
}

#[test]
fn constants_are_rounded_towards_zero_where_the_shader_says_so() {
    let test = "constants_are_rounded_towards_zero_where_the_shader_says_so";
    let halves: &[Case] = &[
        ("f32", "f16", "2051", &[0x6801]),
        ("f32", "f16", "-2051", &[0xe801]),
        ("f32", "f16", "70000", &[0x7bff]),
        ("f64", "f16", "0x1.0020000001p+0", &[0x3c00]),
    ];
    check(test, &["RoundingModeRTZ 16"], "", halves);
    check(test, &[], "OpDecorate %y FPRoundingMode RTZ", halves);
    let singles: &[Case] = &[("f64", "f32", "0x1.000003p+0", &[0x3f80_0001]), ("f32", "f16", "2051", &[0x6802])];
    check(test, &["RoundingModeRTZ 32"], "", singles);
}

#[test]
fn denormal_constants_are_flushed_where_the_shader_requires_it() {
    let test = "denormal_constants_are_flushed_where_the_shader_requires_it";
    let halves: &[Case] =
        &[("f32", "f16", "-0x1p-20", &[0x8000]), ("f32", "f16", "0x1p-14", &[0x400]), ("f16", "f32", "0x1p-20", &[0])];
    check(test, &["DenormFlushToZero 16"], "", halves);
    check(test, &["DenormPreserve 16"], "", &[("f32", "f16", "-0x1p-20", &[0x8010])]);
    let singles: &[Case] = &[("f32", "f64", "0x1p-130", &[0, 0]), ("f64", "f32", "0x1p-130", &[0])];
    check(test, &["DenormFlushToZero 32"], "", singles);
    check(test, &["DenormPreserve 32"], "", &[("f64", "f32", "0x1p-130", &[0x8_0000])]);
}
