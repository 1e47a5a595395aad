//! The instructions, with what the specifications say that they give.

use super::module::{Row, SETS};
use super::number::Num::{self, F, S, U};
use super::number::{FLOATS, WIDTHS, decode, encode, signed};
use dovetail::proof::Random;

/// All rows.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for width in WIDTHS {
        counts(&mut rows, width);
        arithmetic(&mut rows, width);
        for other in WIDTHS {
            conversions(&mut rows, width, other);
            for amount in [U(other), S(other)] {
                shifts(&mut rows, width, amount);
                fields(&mut rows, width, amount);
            }
            lanes(&mut rows, width, other);
        }
        for index in [U(width), S(width)] {
            indices(&mut rows, index);
            switches(&mut rows, index);
        }
        for float in FLOATS {
            floats(&mut rows, float, width);
        }
    }
    rows
}

/// A row whose sets are made by a function of the set's number and a random number for each operand.
fn row(
    name: &str,
    args: &[Num],
    result: Num,
    body: &str,
    set: impl Fn(usize, &[u64]) -> Vec<u64>,
    expected: impl Fn(&[u64]) -> Option<u64> + 'static,
) -> Row {
    let mut random = Random::new(name.len() as u64 + 1);
    let sets = (0..SETS).map(|n| {
        let bits: Vec<u64> = args.iter().map(|ty| any(&mut random, n, *ty)).collect();
        set(n, &bits).iter().zip(args).map(|(x, ty)| x & ty.mask()).collect()
    });
    let types: Vec<String> = args.iter().map(|ty| ty.id()).collect();
    Row {
        name: format!("{name} {} -> {}", types.join(" "), result.id()),
        args: args.to_vec(),
        result,
        body: format!("{body}\n"),
        variables: String::new(),
        sets: sets.collect(),
        expected: Box::new(move |set, _| expected(set)),
        across: false,
    }
}

/// Some bits: edges, then any.
fn any(random: &mut Random, n: usize, ty: Num) -> u64 {
    let mask = ty.mask();
    match n {
        0 => 0,
        1 => mask,
        2 => 1,
        3 => mask >> 1,
        4 => (mask >> 1) + 1,
        5 => 1 << (ty.bits() / 2),
        6 => mask >> (ty.bits() / 2),
        _ => random.bits() & mask,
    }
}

fn instruction(op: &str, result: &str, operands: usize) -> String {
    let operands: Vec<String> = (0..operands).map(|n| format!("{{{n}}}")).collect();
    format!("{{r}} = {op} {result} {}", operands.join(" "))
}

fn shifts(rows: &mut Vec<Row>, width: u32, amount: Num) {
    let set = move |n: usize, x: &[u64]| {
        let by = match n {
            0 => 0,
            1 => u64::from(width) - 1,
            _ => x[1] % u64::from(width),
        };
        vec![x[0], by]
    };
    type Shift = fn(u64, u64, u32) -> u64;
    let all: [(&str, Shift); 3] = [
        ("OpShiftLeftLogical", |x, by, _| x << by),
        ("OpShiftRightLogical", |x, by, _| x >> by),
        ("OpShiftRightArithmetic", |x, by, width| (signed(x, width) >> by) as u64),
    ];
    for (op, shift) in all {
        let body = instruction(op, &U(width).id(), 2);
        rows.push(row(op, &[U(width), amount], U(width), &body, set, move |x| Some(shift(x[0], x[1], width))));
    }
}

fn fields(rows: &mut Vec<Row>, width: u32, offset: Num) {
    // The count has a width of its own.
    let count = match offset {
        U(bits) => S(WIDTHS[(bits.trailing_zeros() as usize + 2) % 4]),
        _ => U(offset.bits()),
    };
    let field = move |n: usize, x: u64, y: u64| {
        let offset = if n == 0 { 0 } else { x % (u64::from(width) + 1) };
        let most = u64::from(width) - offset;
        (offset, if n < 3 { most } else { y % (most + 1) })
    };
    // A field beyond the base is undefined.
    let fits = move |offset: u64, count: u64| offset + count <= u64::from(width);
    let low = |count: u64| if count == 0 { 0 } else { u64::MAX >> (64 - count) };
    let base = U(width);
    for is_signed in [false, true] {
        let (op, ty) = if is_signed { ("OpBitFieldSExtract", S(width)) } else { ("OpBitFieldUExtract", U(width)) };
        let set = move |n: usize, x: &[u64]| {
            let (offset, count) = field(n, x[1], x[2]);
            vec![x[0], offset, count]
        };
        let expected = move |x: &[u64]| {
            let part = x[0].checked_shr(x[1] as u32).unwrap_or(0) & low(x[2]);
            fits(x[1], x[2]).then_some(if is_signed && x[2] > 0 { signed(part, x[2] as u32) as u64 } else { part })
        };
        rows.push(row(op, &[ty, offset, count], ty, &instruction(op, &ty.id(), 3), set, expected));
    }
    let set = move |n: usize, x: &[u64]| {
        let (offset, count) = field(n, x[2], x[3]);
        vec![x[0], x[1], offset, count]
    };
    let expected = move |x: &[u64]| {
        let mask = low(x[3]).checked_shl(x[2] as u32).unwrap_or(0);
        fits(x[2], x[3]).then_some(x[0] & !mask | x[1].checked_shl(x[2] as u32).unwrap_or(0) & mask)
    };
    let body = instruction("OpBitFieldInsert", &base.id(), 4);
    rows.push(row("OpBitFieldInsert", &[base, base, offset, count], base, &body, set, expected));
}

fn counts(rows: &mut Vec<Row>, width: u32) {
    let same = |_: usize, x: &[u64]| x.to_vec();
    let ty = U(width);
    for result in WIDTHS {
        let body = instruction("OpBitCount", &U(result).id(), 1);
        rows.push(row("OpBitCount", &[ty], U(result), &body, same, |x| Some(u64::from(x[0].count_ones()))));
    }
    let body = instruction("OpBitReverse", &ty.id(), 1);
    rows.push(row("OpBitReverse", &[ty], ty, &body, same, move |x| Some(x[0].reverse_bits() >> (64 - width))));
    type Find = fn(u64, u32) -> u64;
    let all: [(&str, Find); 3] = [
        ("FindILsb", |x, _| if x == 0 { u64::MAX } else { x.trailing_zeros().into() }),
        ("FindUMsb", |x, _| 63u64.wrapping_sub(x.leading_zeros().into())),
        ("FindSMsb", |x, width| {
            let x = signed(x, width);
            63u64.wrapping_sub((if x < 0 { !x } else { x }).leading_zeros().into())
        }),
    ];
    for (op, find) in all {
        let ty = S(width);
        let body = format!("{{r}} = OpExtInst {} %glsl {op} {{0}}", ty.id());
        rows.push(row(op, &[ty], ty, &body, same, move |x| Some(find(x[0], width))));
    }
}

fn s(x: u64, width: u32) -> i64 {
    signed(x, width)
}

fn arithmetic(rows: &mut Vec<Row>, width: u32) {
    let same = |_: usize, x: &[u64]| x.to_vec();
    type Binary = fn(u64, u64, u32) -> Option<u64>;
    let binary: [(&str, Binary); 12] = [
        ("OpIAdd", |x, y, _| Some(x.wrapping_add(y))),
        ("OpISub", |x, y, _| Some(x.wrapping_sub(y))),
        ("OpIMul", |x, y, _| Some(x.wrapping_mul(y))),
        ("OpUDiv", |x, y, _| x.checked_div(y)),
        ("OpUMod", |x, y, _| x.checked_rem(y)),
        ("OpSDiv", |x, y, w| (!overflows(x, y, w)).then(|| s(x, w).checked_div(s(y, w)).map(|x| x as u64))?),
        ("OpSRem", |x, y, w| (!overflows(x, y, w)).then(|| s(x, w).checked_rem(s(y, w)).map(|x| x as u64))?),
        ("OpSMod", |x, y, w| {
            let (a, b) = (i128::from(s(x, w)), i128::from(s(y, w)));
            (b != 0 && !overflows(x, y, w)).then(|| ((a % b + b) % b) as u64)
        }),
        ("OpBitwiseXor", |x, y, _| Some(x ^ y)),
        ("OpBitwiseAnd", |x, y, _| Some(x & y)),
        ("OpBitwiseOr", |x, y, _| Some(x | y)),
        ("OpNot", |x, _, _| Some(!x)),
    ];
    for (op, of) in binary {
        let ty = S(width);
        let args = if op == "OpNot" { vec![ty] } else { vec![ty; 2] };
        let body = instruction(op, &ty.id(), args.len());
        rows.push(row(op, &args, ty, &body, same, move |x| of(x[0], x.get(1).copied().unwrap_or(0), width)));
    }
    type Compare = fn(u64, u64, u32) -> bool;
    let compare: [(&str, Compare); 6] = [
        ("OpULessThan", |x, y, _| x < y),
        ("OpUGreaterThanEqual", |x, y, _| x >= y),
        ("OpSLessThan", |x, y, w| s(x, w) < s(y, w)),
        ("OpSLessThanEqual", |x, y, w| s(x, w) <= s(y, w)),
        ("OpSGreaterThan", |x, y, w| s(x, w) > s(y, w)),
        ("OpIEqual", |x, y, _| x == y),
    ];
    for (op, of) in compare {
        let body = format!("%b{{n}} = {op} %bool {{0}} {{1}}\n{{r}} = OpSelect %u32 %b{{n}} %n1 %n0");
        rows.push(row(op, &[S(width); 2], U(32), &body, same, move |x| Some(of(x[0], x[1], width).into())));
    }
    type Extended = fn(&[u64], u32) -> u64;
    let extended: [(&str, bool, Extended); 8] = [
        ("SAbs", true, |x, w| s(x[0], w).unsigned_abs()),
        ("SSign", true, |x, w| s(x[0], w).signum() as u64),
        ("SMin", true, |x, w| s(x[0], w).min(s(x[1], w)) as u64),
        ("SMax", true, |x, w| s(x[0], w).max(s(x[1], w)) as u64),
        ("UMin", false, |x, _| x[0].min(x[1])),
        ("UMax", false, |x, _| x[0].max(x[1])),
        ("SClamp", true, |x, w| s(x[0], w).max(s(x[1], w)).min(s(x[2], w)) as u64),
        ("UClamp", false, |x, _| x[0].max(x[1]).min(x[2])),
    ];
    for (op, is_signed, of) in extended {
        let ty = if is_signed { S(width) } else { U(width) };
        let count = if op.ends_with("Clamp") { 3 } else { 1 + usize::from(op.ends_with("Min") || op.ends_with("Max")) };
        let set = move |_: usize, x: &[u64]| {
            let mut x = x.to_vec();
            // A range is not empty.
            if x.len() == 3 {
                let key = |x: &u64| if is_signed { i128::from(signed(*x, width)) } else { i128::from(*x) };
                x[1..].sort_by_key(key);
            }
            x
        };
        let operands: Vec<String> = (0..count).map(|n| format!("{{{n}}}")).collect();
        let body = format!("{{r}} = OpExtInst {} %glsl {op} {}", ty.id(), operands.join(" "));
        rows.push(row(op, &vec![ty; count], ty, &body, set, move |x| Some(of(x, width))));
    }
    type Pair = fn(u64, u64, u32) -> [u64; 2];
    let pairs: [(&str, bool, Pair); 4] = [
        ("OpIAddCarry", false, |x, y, w| {
            let sum = u128::from(x) + u128::from(y);
            [sum as u64, (sum >> w) as u64]
        }),
        ("OpISubBorrow", false, |x, y, _| [x.wrapping_sub(y), u64::from(x < y)]),
        ("OpUMulExtended", false, |x, y, w| {
            let product = u128::from(x) * u128::from(y);
            [product as u64, (product >> w) as u64]
        }),
        ("OpSMulExtended", true, |x, y, w| {
            let product = i128::from(s(x, w)) * i128::from(s(y, w));
            [product as u64, (product >> w) as u64]
        }),
    ];
    for (op, is_signed, of) in pairs {
        let (ty, pair) = if is_signed { (S(width), "ii") } else { (U(width), "uu") };
        for part in 0..2 {
            let body = format!(
                "%b{{n}} = {op} %{pair}{width} {{0}} {{1}}\n{{r}} = OpCompositeExtract {} %b{{n}} {part}",
                ty.id()
            );
            rows.push(row(op, &[ty; 2], ty, &body, same, move |x| Some(of(x[0], x[1], width)[part])));
        }
    }
}

/// Whether a signed quotient does not fit.
fn overflows(x: u64, y: u64, width: u32) -> bool {
    signed(x, width) == i64::MIN >> (64 - width) && signed(y, width) == -1
}

fn conversions(rows: &mut Vec<Row>, from: u32, to: u32) {
    let same = |_: usize, x: &[u64]| x.to_vec();
    if from != to {
        let body = instruction("OpUConvert", &U(to).id(), 1);
        rows.push(row("OpUConvert", &[U(from)], U(to), &body, same, |x| Some(x[0])));
        let body = instruction("OpSConvert", &S(to).id(), 1);
        rows.push(row("OpSConvert", &[S(from)], S(to), &body, same, move |x| Some(signed(x[0], from) as u64)));
    }
    if to == 8 {
        return;
    }
    let float = to;
    // Halves hold numbers below 65504.
    let small = move |_: usize, x: &[u64]| vec![if float == 16 { (signed(x[0], from) % 2000) as u64 } else { x[0] }];
    let body = instruction("OpConvertSToF", &F(float).id(), 1);
    rows.push(row("OpConvertSToF", &[S(from)], F(float), &body, small, move |x| {
        let x = signed(x[0], from);
        Some(if float == 32 { (x as f32).to_bits().into() } else { encode(x as f64, float) })
    }));
    let small = move |_: usize, x: &[u64]| vec![if float == 16 { x[0] % 2000 } else { x[0] }];
    let body = instruction("OpConvertUToF", &F(float).id(), 1);
    rows.push(row("OpConvertUToF", &[U(from)], F(float), &body, small, move |x| {
        Some(if float == 32 { (x[0] as f32).to_bits().into() } else { encode(x[0] as f64, float) })
    }));
    // Numbers that both hold.
    let most = if float == 16 { 2000.0 } else { 1e9 };
    let fits = move |is_signed: bool| {
        move |_: usize, x: &[u64]| {
            let most = f64::min(most, 2f64.powi(from as i32 - 2));
            let part = (x[0] % 10_007) as f64 / 10_007.0;
            vec![encode(if is_signed { (2.0 * part - 1.0) * most } else { part * most }, float)]
        }
    };
    let body = instruction("OpConvertFToS", &S(from).id(), 1);
    rows.push(row("OpConvertFToS", &[F(float)], S(from), &body, fits(true), move |x| {
        Some(decode(x[0], float).trunc() as i64 as u64)
    }));
    let body = instruction("OpConvertFToU", &U(from).id(), 1);
    rows.push(row("OpConvertFToU", &[F(float)], U(from), &body, fits(false), move |x| {
        Some(decode(x[0], float).trunc() as u64)
    }));
}

fn floats(rows: &mut Vec<Row>, float: u32, width: u32) {
    // Normal numbers of either sign, far from the limits.
    let normal = move |x: u64| {
        let size = 1.0 + (x % 1000) as f64 / 1024.0;
        let exponent = (x / 1000 % 7) as i32 - 3;
        encode(if x >> 20 & 1 == 1 { -size } else { size } * 2f64.powi(exponent), float)
    };
    // The exponents that a format has, with a margin for the number's own.
    let most = match float {
        16 => 10,
        32 => 120,
        _ => 1000,
    };
    for exponent in [S(width), U(width)] {
        let is_signed = exponent == S(width);
        let set = move |n: usize, x: &[u64]| {
            let most = i64::try_from(exponent.mask() >> u32::from(is_signed)).map_or(most, |held| most.min(held));
            let by = match n {
                // So small that the result is zero: but of a size that its type holds.
                0 | 1 if is_signed && width == 64 => [-(1i64 << 32), i64::MIN][n],
                2 if is_signed && width == 64 => -(1i64 << 40) + 3,
                0 | 1 if is_signed && width >= 32 => [-3000, i64::from(i32::MIN)][n],
                0 if is_signed && width >= 16 => -3000,
                3 if !is_signed => most,
                _ if is_signed => (x[1] >> 1) as i64 % (2 * most + 1) - most,
                _ => x[1] as i64 & i64::MAX,
            };
            let by = if by > most { by % (most + 1) } else { by };
            vec![normal(x[0]), by as u64]
        };
        let body = format!("{{r}} = OpExtInst {} %glsl Ldexp {{0}} {{1}}", F(float).id());
        rows.push(row("Ldexp", &[F(float), exponent], F(float), &body, set, move |x| {
            let by = if is_signed { signed(x[1], width) } else { x[1] as i64 };
            let number = decode(x[0], float);
            if by < -2500 {
                return Some(encode(0f64.copysign(number), float));
            }
            let made = number * 2f64.powi((by / 2) as i32) * 2f64.powi((by - by / 2) as i32);
            // What is denormal may be flushed.
            let least = [(16, -14), (32, -126), (64, -1022)].iter().find(|l| l.0 == float)?.1;
            (made.abs() >= 2f64.powi(least)).then(|| encode(made, float))
        }));
    }
    let one = move |_: usize, x: &[u64]| vec![normal(x[0])];
    let split = |x: f64| {
        let exponent = ((x.to_bits() >> 52 & 2047) as i64) - 1022;
        (x * 2f64.powi(-exponent as i32), exponent)
    };
    let body = format!(
        "%b{{n}} = OpExtInst %f{float}i{width} %glsl FrexpStruct {{0}}\n{{r}} = OpCompositeExtract %i{width} %b{{n}} 1"
    );
    rows.push(row("FrexpStruct", &[F(float)], S(width), &body, one, move |x| {
        Some(split(decode(x[0], float)).1 as u64)
    }));
    let body = format!(
        "%b{{n}} = OpExtInst %f{float}i{width} %glsl FrexpStruct {{0}}\n{{r}} = OpCompositeExtract %f{float} %b{{n}} 0"
    );
    rows.push(row("FrexpStruct", &[F(float)], F(float), &body, one, move |x| {
        Some(encode(split(decode(x[0], float)).0, float))
    }));
    for part in 0..2 {
        let body = format!(
            "%b{{n}} = OpExtInst %ff{float} %glsl ModfStruct {{0}}\n{{r}} = OpCompositeExtract %f{float} %b{{n}} {part}"
        );
        rows.push(row("ModfStruct", &[F(float)], F(float), &body, one, move |x| {
            let x = decode(x[0], float);
            let parts = [(x - x.trunc()).copysign(x), x.trunc()];
            Some(encode(parts[part], float))
        }));
    }
}

const PLACES: [u64; 4] = [11, 22, 33, 44];

fn indices(rows: &mut Vec<Row>, index: Num) {
    let four = |n: usize, x: &[u64]| vec![if n < 4 { n as u64 } else { x[0] % 4 }];
    let at = |x: &[u64]| PLACES.get(x[0] as usize).copied();
    let body = "{r} = OpVectorExtractDynamic %u32 %four {0}";
    rows.push(row("OpVectorExtractDynamic", &[index], U(32), body, four, at));
    let body = "%b{n} = OpVectorInsertDynamic %u4 %four %n8 {0}\n{r} = OpCompositeExtract %u32 %b{n} 2";
    rows.push(row("OpVectorInsertDynamic", &[index], U(32), body, four, |x| Some(if x[0] == 2 { 8 } else { 33 })));
    let body = "OpStore %v{n} %four_of
        %b{n} = OpAccessChain %p_local %v{n} {0}
        {r} = OpLoad %u32 %b{n}";
    let mut table = row("OpAccessChain into a constant", &[index], U(32), body, four, at);
    table.variables = "%v{n} = OpVariable %p_a4 Function\n".to_owned();
    rows.push(table);
    let body = "OpStore %v{n} %four_of
        %b{n} = OpAccessChain %p_local %v{n} {0}
        OpStore %b{n} %n8
        %c{n} = OpAccessChain %p_local %v{n} %n2
        {r} = OpLoad %u32 %c{n}";
    let mut local =
        row("OpAccessChain into a variable", &[index], U(32), body, four, |x| Some(if x[0] == 2 { 8 } else { 33 }));
    local.variables = "%v{n} = OpVariable %p_a4 Function\n".to_owned();
    rows.push(local);
    let body = "OpStore %v{n} %four
        %b{n} = OpAccessChain %p_local %v{n} {0}
        {r} = OpLoad %u32 %b{n}";
    let mut vector = row("OpAccessChain into a vector", &[index], U(32), body, four, at);
    vector.variables = "%v{n} = OpVariable %p_u4 Function\n".to_owned();
    rows.push(vector);
    // The first operand is only there for its place in the buffer: 16 words, one a set.
    let in_range = |n: usize, x: &[u64]| vec![x[0], (n as u64 * 7) % SETS as u64];
    let body = "%b{n} = OpAccessChain %p_word %in %n0 {at0}
        %c{n} = OpPtrAccessChain %p_word %b{n} {1}
        {r} = OpLoad %u64 %c{n}";
    let mut forward = row("OpPtrAccessChain", &[U(64), index], U(64), body, in_range, |_| None);
    forward.expected = Box::new(|set, all| all.get(set[1] as usize).map(|set| set[0]));
    rows.push(forward);
    if let S(bits) = index {
        let back = |n: usize, x: &[u64]| vec![x[0], (n as i64 - 8) as u64];
        let body = "%kk{n} = OpIAdd %u32 {at0} %n8
            %b{n} = OpAccessChain %p_word %in %n0 %kk{n}
            %c{n} = OpPtrAccessChain %p_word %b{n} {1}
            {r} = OpLoad %u64 %c{n}";
        let at = move |set: &[u64], all: &[Vec<u64>]| {
            all.get(usize::try_from(8 + signed(set[1], bits)).ok()?).map(|set| set[0])
        };
        let mut backward = row("OpPtrAccessChain back", &[U(64), index], U(64), body, back, |_| None);
        backward.expected = Box::new(at);
        rows.push(backward);
    }
}

fn switches(rows: &mut Vec<Row>, selector: Num) {
    let mask = selector.mask();
    let cases = [0, 5, mask, mask >> 1, (mask >> 1) + 1, mask - 1];
    let labels: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(n, case)| {
            let number = match selector {
                S(bits) => signed(*case, bits).to_string(),
                _ => case.to_string(),
            };
            format!("{number} %case{{n}}_{n}")
        })
        .collect();
    let mut body = format!("OpSelectionMerge %end{{n}} None\nOpSwitch {{0}} %other{{n}} {}\n", labels.join(" "));
    let numbers = ["%n1", "%n2", "%n3", "%n4", "%n8", "%k_11"];
    let mut phi = "{r} = OpPhi %u32 %n0 %other{n}".to_owned();
    for (n, number) in numbers.iter().enumerate() {
        body += &format!("%case{{n}}_{n} = OpLabel\nOpBranch %end{{n}}\n");
        phi += &format!(" {number} %case{{n}}_{n}");
    }
    body += &format!("%other{{n}} = OpLabel\nOpBranch %end{{n}}\n%end{{n}} = OpLabel\n{phi}");
    // Numbers that differ from a case only above some bits are other numbers.
    let set = move |n: usize, x: &[u64]| {
        vec![match n {
            0..6 => cases[n],
            6 if mask > u64::from(u32::MAX) => 5 | 1 << 32,
            7 => 5 ^ 1 << (selector.bits() - 1),
            8 => 6,
            _ => x[0],
        }]
    };
    rows.push(row("OpSwitch", &[selector], U(32), &body, set, move |x| {
        Some(cases.iter().position(|case| *case == x[0]).map_or(0, |n| [1, 2, 3, 4, 8, 11][n]))
    }));
}

fn lanes(rows: &mut Vec<Row>, width: u32, index: u32) {
    type From = fn(usize, u64) -> Option<usize>;
    let lanes = SETS as u64;
    let all: [(&str, From); 5] = [
        ("OpGroupNonUniformShuffle", |_, by| Some(by as usize)),
        ("OpGroupNonUniformShuffleXor", |lane, by| Some(lane ^ by as usize)),
        ("OpGroupNonUniformShuffleUp", |lane, by| lane.checked_sub(by as usize)),
        ("OpGroupNonUniformShuffleDown", |lane, by| Some(lane + by as usize).filter(|l| *l < SETS)),
        ("OpGroupNonUniformBroadcast", |_, by| Some(by as usize)),
    ];
    for (op, from) in all {
        let uniform = op.ends_with("Broadcast");
        let set = move |n: usize, x: &[u64]| vec![x[0], if uniform { 9 } else { (n as u64 * 5 + 3) % lanes }];
        let body = format!("{{r}} = {op} {} %n3 {{0}} {{1}}", U(width).id());
        let mut made = row(op, &[U(width), U(index)], U(width), &body, set, |_| None);
        // A set is found by its number among those of the row: each lane has its own first operand.
        for (n, set) in made.sets.iter_mut().enumerate() {
            set[0] = (set[0] << 4 | n as u64) & U(width).mask();
        }
        made.expected = Box::new(move |set, all| {
            let lane = (set[0] & 15) as usize;
            all.get(from(lane, set[1])?).map(|set| set[0])
        });
        made.across = true;
        rows.push(made);
    }
}
