//! [`Instruction`] to text, in the words of LLVM's disassembler: what a trace shows, and what decoding is checked by.

use super::instruction::*;
use super::print::{Scalars, Vgprs, hex};
use super::table::Kind;
use super::{BufferFormat, Cache, Format, InlineFloat, Scalar, Src, Vgpr};
use crate::target::WaveSize;
use std::fmt::Write;

impl Instruction {
    /// The assembler's text; the wave size decides how wide a lane mask is.
    pub fn text(&self, wave: WaveSize) -> String {
        let mut out = Listing { inst: self, wave, operands: Vec::new(), tail: String::new() };
        let mnemonic = out.fill();
        let operands = if out.operands.is_empty() { String::new() } else { format!(" {}", out.operands.join(", ")) };
        format!("{mnemonic}{operands}{}", out.tail)
    }
}

struct Listing<'a> {
    inst: &'a Instruction,
    wave: WaveSize,
    operands: Vec<String>,
    tail: String,
}

/// Short instructions that have no long form, and so no suffix.
const SHORT_ONLY: &[&str] = &[
    "v_nop",
    "v_pipeflush",
    "v_clrexcp",
    "v_readfirstlane_b32",
    "v_swap_b32",
    "v_swaprel_b32",
    "v_fmamk_f32",
    "v_fmaak_f32",
    "v_fmamk_f16",
    "v_fmaak_f16",
    "v_dot2c_f32_f16",
    "v_dot4c_i32_i8",
    "v_pk_fmac_f16",
];

impl Listing<'_> {
    fn fill(&mut self) -> String {
        let name = self.inst.entry.mnemonic;
        let mut mnemonic = name.to_owned();
        match &self.inst.fields {
            Fields::Scalar(f) => self.scalar(f),
            Fields::Smem(f) => self.smem(f),
            Fields::Vector(f) => {
                let promoted = matches!(self.inst.entry.format, Format::Vop1 | Format::Vop2 | Format::Vopc);
                mnemonic += match f.form {
                    VectorForm::Short if !SHORT_ONLY.contains(&name) => "_e32",
                    VectorForm::Long if promoted && !SHORT_ONLY.contains(&name) => "_e64",
                    VectorForm::Sdwa(_) => "_sdwa",
                    VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } => "_dpp",
                    _ => "",
                };
                self.vector(f);
            }
            Fields::Interp(f) => {
                mnemonic += match self.inst.entry.format {
                    Format::Vintrp => "_e32",
                    _ if name.ends_with("_f32") => "_e64",
                    _ => "",
                };
                self.interp(f);
            }
            Fields::Ds(f) => self.ds(f),
            Fields::Flat(f) => self.flat(f),
            Fields::Buffer(f) => self.buffer(f),
            Fields::Image(f) => self.image(f),
            Fields::Export(f) => mnemonic = self.export(f, name),
        }
        mnemonic
    }

    fn push(&mut self, text: impl ToString) {
        self.operands.push(text.to_string());
    }

    fn tail(&mut self, flags: &[(bool, &str)]) {
        for (_, text) in flags.iter().filter(|(set, _)| *set) {
            self.tail.push(' ');
            self.tail.push_str(text);
        }
    }

    fn cache(&mut self, cache: Cache) {
        self.tail(&[(cache.glc, "glc"), (cache.slc, "slc"), (cache.dlc, "dlc")]);
    }

    fn scalar_register(&self, s: Scalar, kind: Kind) -> String {
        let count = match (kind, self.wave) {
            (Kind::Mask, WaveSize::W64) => 2,
            _ => kind.registers(),
        };
        Scalars(s, count).to_string()
    }

    fn source(&self, src: Src, kind: Kind) -> String {
        match src {
            Src::Scalar(s) => self.scalar_register(s, kind),
            Src::Vgpr(v) => Vgprs(v, kind.registers()).to_string(),
            Src::Float(InlineFloat::InverseTwoPi) if matches!(kind, Kind::F64 | Kind::B64) => {
                "0.15915494309189532".to_owned()
            }
            // A constant that did not have to follow the instruction prints like one that did not.
            Src::Literal(bits) if !kind.is_half() => match Src::from_bits(bits) {
                Src::Float(_) if kind == Kind::F64 => src.to_string(),
                short => short.to_string(),
            },
            Src::Literal(bits) => format!("{:#x}", bits & 0xffff),
            _ => src.to_string(),
        }
    }

    fn scalar(&mut self, f: &ScalarFields) {
        let entry = self.inst.entry;
        let kind = |kinds: &[Kind], i: usize| kinds.get(i).copied().unwrap_or(Kind::B32);
        if let Some(dst) = f.dst {
            let text = self.scalar_register(dst, kind(entry.dst, 0));
            self.push(text);
        }
        let name = entry.mnemonic;
        if name.starts_with("s_setreg") {
            self.push(hardware_register(f.imm));
        }
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                let text = self.source(*src, kind(entry.src, i));
                self.push(text);
            }
        }
        let branch = name.starts_with("s_cbranch") || name == "s_branch" || name == "s_call_b64";
        match entry.format {
            Format::Sopk if name == "s_getreg_b32" => self.push(hardware_register(f.imm)),
            Format::Sopk if name.starts_with("s_setreg") => {}
            Format::Sopk | Format::Sopp if branch => self.push(f.imm),
            Format::Sopk => self.push(format!("{:#x}", f.imm)),
            Format::Sopp => match name {
                "s_waitcnt" => self.push(waitcnt(f.imm)),
                "s_inst_prefetch" | "s_clause" | "s_round_mode" | "s_ttracedata_imm" => {
                    self.push(format!("{:#x}", f.imm));
                }
                "s_sendmsg" | "s_sendmsghalt" => self.push(message(f.imm)),
                "s_nop" | "s_sleep" | "s_setprio" | "s_denorm_mode" | "s_trap" | "s_sethalt" | "s_setkill"
                | "s_incperflevel" | "s_decperflevel" => {
                    self.push(if f.imm > 64 { format!("{:#x}", f.imm) } else { f.imm.to_string() });
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn smem(&mut self, f: &SmemFields) {
        let entry = self.inst.entry;
        if entry.dst.is_empty() {
            return;
        }
        self.push(Scalars(f.data, entry.data_registers()));
        if entry.mnemonic.contains("time") {
            return;
        }
        self.push(Scalars(f.base, if entry.mnemonic.contains("buffer") { 4 } else { 2 }));
        match (f.soffset, f.offset) {
            (None, 0) => self.push("null"),
            (None, n) => self.push(hex(n)),
            (Some(s), 0) => self.push(s),
            (Some(s), n) => self.push(format!("{s} offset:{}", hex(n))),
        }
        self.cache(f.cache);
    }

    fn vector(&mut self, f: &VectorFields) {
        let entry = self.inst.entry;
        let mixed = entry.mnemonic.starts_with("v_fma_mix");
        match f.dst {
            Some(VectorDst::Vgpr(v)) => self.push(Vgprs(v, entry.dst[0].registers())),
            Some(VectorDst::Scalar(s)) => {
                let text = self.scalar_register(s, entry.dst[0]);
                self.push(text);
            }
            None => {}
        }
        if let Some(mask) = f.mask {
            let text = self.scalar_register(mask, Kind::Mask);
            self.push(text);
        }
        let packed = entry.format == Format::Vop3p;
        let absolute = if mixed { f.mods.neg_hi } else { f.mods.abs };
        for (i, kind) in entry.src.iter().enumerate() {
            let Some(src) = f.srcs[i] else { continue };
            let mut text = match src {
                // The constant of these has a place of its own, and prints as it lies there.
                Src::Literal(_) if SHORT_ONLY.contains(&entry.mnemonic) => src.to_string(),
                _ => self.source(src, *kind),
            };
            if absolute >> i & 1 == 1 {
                text = format!("|{text}|");
            }
            if f.mods.neg >> i & 1 == 1 && (!packed || mixed) {
                text.insert(0, '-');
            }
            if let VectorForm::Sdwa(sdwa) = f.form
                && sdwa.sext.get(i) == Some(&true)
            {
                text = format!("sext({text})");
            }
            self.push(text);
        }
        if packed {
            self.packed_modifiers(f, mixed);
        } else if f.mods.op_sel != 0 {
            // The destination's bit comes last, except where the bits mean something else.
            let count = if entry.mnemonic.starts_with("v_permlane") { 2 } else { entry.src.len() + 1 };
            let bit = |i: usize| f.mods.op_sel >> if i == entry.src.len() { 3 } else { i } & 1;
            let list: Vec<String> = (0..count).map(|i| bit(i).to_string()).collect();
            let _ = write!(self.tail, " op_sel:[{}]", list.join(","));
        }
        self.tail(&[(f.mods.clamp, "clamp")]);
        self.tail(&[(f.mods.omod == 1, "mul:2"), (f.mods.omod == 2, "mul:4"), (f.mods.omod == 3, "div:2")]);
        self.form(f);
    }

    fn packed_modifiers(&mut self, f: &VectorFields, mixed: bool) {
        let count = self.inst.entry.src.len();
        let all = (1 << count) - 1;
        let usual = if mixed { 0 } else { all };
        let sets = [
            ("op_sel", f.mods.op_sel, 0),
            ("op_sel_hi", f.mods.op_sel_hi & all, usual),
            ("neg_lo", if mixed { 0 } else { f.mods.neg }, 0),
            ("neg_hi", if mixed { 0 } else { f.mods.neg_hi }, 0),
        ];
        for (name, set, _) in sets.into_iter().filter(|(_, set, usual)| set != usual) {
            let list: Vec<String> = (0..count).map(|i| (set >> i & 1).to_string()).collect();
            let _ = write!(self.tail, " {name}:[{}]", list.join(","));
        }
    }

    fn form(&mut self, f: &VectorFields) {
        const SELECT: [&str; 7] = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"];
        const UNUSED: [&str; 3] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];
        let select = |n: u8| SELECT.get(usize::from(n)).copied().unwrap_or("?");
        match f.form {
            VectorForm::Short | VectorForm::Long => {}
            VectorForm::Sdwa(sdwa) => {
                if matches!(f.dst, Some(VectorDst::Vgpr(_))) {
                    let unused = UNUSED.get(usize::from(sdwa.dst_unused)).copied().unwrap_or("?");
                    let _ = write!(self.tail, " dst_sel:{} dst_unused:{unused}", select(sdwa.dst_sel));
                }
                for (i, sel) in sdwa.src_sel.into_iter().enumerate().take(self.inst.entry.src.len()) {
                    let _ = write!(self.tail, " src{i}_sel:{}", select(sel));
                }
            }
            VectorForm::Dpp8 { lanes, fi } => {
                let list: Vec<String> = (0..8).map(|i| (lanes >> (3 * i) & 7).to_string()).collect();
                let _ = write!(self.tail, " dpp8:[{}]", list.join(","));
                self.tail(&[(fi, "fi:1")]);
            }
            VectorForm::Dpp16(dpp) => {
                let n = dpp.ctrl & 15;
                let control = match dpp.ctrl {
                    0..=0xff => {
                        let list: Vec<String> = (0..4).map(|i| (dpp.ctrl >> (2 * i) & 3).to_string()).collect();
                        format!("quad_perm:[{}]", list.join(","))
                    }
                    0x101..=0x10f => format!("row_shl:{n}"),
                    0x111..=0x11f => format!("row_shr:{n}"),
                    0x121..=0x12f => format!("row_ror:{n}"),
                    0x140 => "row_mirror".to_owned(),
                    0x141 => "row_half_mirror".to_owned(),
                    0x150..=0x15f => format!("row_share:{n}"),
                    0x160..=0x16f => format!("row_xmask:{n}"),
                    other => format!("/* {other:#x} */"),
                };
                let _ = write!(self.tail, " {control} row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask);
                self.tail(&[(dpp.bound_ctrl, "bound_ctrl:1"), (dpp.fi, "fi:1")]);
            }
        }
    }

    fn interp(&mut self, f: &InterpFields) {
        self.push(f.dst);
        let source = match f.src {
            Src::Int(n) => ["p10", "p20", "p0"].get(usize::from(n.unsigned_abs())).copied().unwrap_or("?").to_owned(),
            src => src.to_string(),
        };
        self.push(source);
        let channel = ["x", "y", "z", "w"].get(usize::from(f.channel)).copied().unwrap_or("?");
        self.push(format!("attr{}.{channel}", f.attribute));
        if let Some(addend) = f.addend {
            self.push(addend);
        }
        self.tail(&[(f.high, "high"), (f.mods.clamp, "clamp")]);
    }

    fn ds(&mut self, f: &DsFields) {
        let entry = self.inst.entry;
        if let Some(kind) = entry.dst.first() {
            self.push(Vgprs(f.dst, kind.registers()));
        }
        let own = entry.mnemonic.contains("addtid");
        let registers = if own { [f.data[0], f.data[0], f.data[1]] } else { [f.addr, f.data[0], f.data[1]] };
        for (register, kind) in registers.into_iter().zip(entry.src) {
            self.push(Vgprs(register, kind.registers()));
        }
        let two = ["read2", "write2", "wrxchg2"].iter().any(|part| entry.mnemonic.contains(part));
        let offset = u16::from_le_bytes(f.offsets);
        if two {
            for (name, offset) in ["offset0", "offset1"].iter().zip(f.offsets).filter(|(_, offset)| *offset != 0) {
                let _ = write!(self.tail, " {name}:{offset}");
            }
        } else if offset != 0 {
            let _ = write!(self.tail, " offset:{offset}");
        }
        self.tail(&[(f.gds, "gds")]);
    }

    fn flat(&mut self, f: &FlatFields) {
        let entry = self.inst.entry;
        let load = entry.dst.first();
        let atomic = entry.mnemonic.contains("_atomic_");
        let own = entry.mnemonic.contains("addtid");
        let scratch = entry.format == Format::Scratch;
        let wide = f.saddr.is_none() && !scratch;
        if let Some(kind) = load {
            self.push(Vgprs(f.dst, kind.registers()));
        } else if atomic && f.cache.glc {
            // What a compare and swap expects is not returned.
            let halved = if entry.mnemonic.contains("cmpswap") { 2 } else { 1 };
            self.push(Vgprs(f.dst, entry.data_registers() / halved));
        }
        match (own, f.no_vaddr) {
            (true, _) => {}
            (_, true) => self.push("off"),
            _ => self.push(Vgprs(f.addr, if wide { 2 } else { 1 })),
        }
        if let Some(kind) = entry.src.first() {
            self.push(Vgprs(f.data, kind.registers()));
        }
        match f.saddr {
            _ if entry.format == Format::Flat => {}
            Some(s) => self.push(Scalars(s, if scratch { 1 } else { 2 })),
            None => self.push("off"),
        }
        if f.offset != 0 {
            let _ = write!(self.tail, " offset:{}", f.offset);
        }
        self.cache(f.cache);
        self.tail(&[(f.lds, "lds")]);
    }

    fn buffer(&mut self, f: &BufferFields) {
        let entry = self.inst.entry;
        if entry.dst.is_empty() && entry.src.is_empty() {
            return;
        }
        if !f.lds {
            self.push(Vgprs(f.data, entry.data_registers() + u8::from(f.tfe)));
        }
        match u8::from(f.idxen) + u8::from(f.offen) {
            0 => self.push("off"),
            n => self.push(Vgprs(f.vaddr, n)),
        }
        self.push(Scalars(f.resource, 4));
        // The format stands before the flags, as if it belonged to the offset.
        let format = f.format.filter(|n| *n != 1).and_then(BufferFormat::new);
        let soffset = f.soffset.to_string();
        self.push(format.map_or(soffset.clone(), |format| format!("{soffset} {format}")));
        self.tail(&[(f.idxen, "idxen"), (f.offen, "offen")]);
        if f.offset != 0 {
            let _ = write!(self.tail, " offset:{}", f.offset);
        }
        self.cache(f.cache);
        self.tail(&[(f.tfe, "tfe"), (f.lds, "lds")]);
    }

    fn image(&mut self, f: &ImageFields) {
        const DIMS: [&str; 8] = ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];
        let name = self.inst.entry.mnemonic;
        let status = u8::from(f.tfe || f.lwe);
        self.push(Vgprs(f.data, f.data_registers(name) + status));
        let count = f.address_registers(name);
        if f.nsa {
            let list: Vec<String> = f.addresses.iter().take(usize::from(count)).map(Vgpr::to_string).collect();
            self.push(format!("[{}]", list.join(", ")));
        } else if let Some(first) = f.addresses.first() {
            self.push(Vgprs(*first, count));
        }
        self.push(Scalars(f.resource, if f.r128 { 4 } else { 8 }));
        if ["sample", "gather", "get_lod"].iter().any(|part| name.contains(part)) {
            self.push(Scalars(f.sampler, 4));
        }
        let dim = DIMS.get(usize::from(f.dim)).copied().unwrap_or("?");
        let _ = write!(self.tail, " dmask:{:#x} dim:SQ_RSRC_IMG_{dim}", f.dmask);
        self.tail(&[(f.unorm, "unorm")]);
        self.cache(f.cache);
        self.tail(&[(f.r128, "r128"), (f.a16, "a16"), (f.tfe, "tfe"), (f.lwe, "lwe"), (f.d16, "d16")]);
    }

    fn export(&mut self, f: &ExportFields, name: &str) -> String {
        let target = match f.target {
            n @ 0..=7 => format!("mrt{n}"),
            8 => "mrtz".to_owned(),
            9 => "null".to_owned(),
            n @ 12..=16 => format!("pos{}", n - 12),
            20 => "prim".to_owned(),
            n @ 32..=63 => format!("param{}", n - 32),
            n => format!("invalid_target_{n}"),
        };
        for i in 0..4usize {
            let register = f.data[if f.compr { i / 2 } else { i }];
            let on = f.enabled >> i & 1 == 1;
            self.push(if on { register.to_string() } else { "off".to_owned() });
        }
        self.tail(&[(f.done, "done"), (f.compr, "compr"), (f.vm, "vm")]);
        format!("{name} {target}")
    }
}

impl ImageFields {
    /// Dwords of the address.
    pub fn address_registers(&self, name: &str) -> u8 {
        let has = |suffix: &str| name.split('_').skip(2).any(|part| part == suffix);
        let (axes, layered, multisampled): (u8, u8, u8) = match self.dim {
            0 => (1, 0, 0),
            2 => (3, 0, 0),
            3 | 5 => (2, 1, 0),
            4 => (1, 1, 0),
            6 => (2, 0, 1),
            7 => (2, 1, 1),
            _ => (2, 0, 0),
        };
        if name == "image_get_resinfo" {
            return 1;
        }
        let alone = [has("o"), has("b"), has("c")].into_iter().map(u8::from).sum::<u8>();
        let direction = if has("g16") { u8::div_ceil(axes, 2) } else { axes };
        let derivatives = if has("d") || has("cd") { 2 * direction } else { 0 };
        let level = [has("l"), has("cl"), has("mip")].into_iter().map(u8::from).sum::<u8>();
        let coordinates = axes + layered + multisampled + level;
        alone + derivatives + if self.a16 { coordinates.div_ceil(2) } else { coordinates }
    }
}

fn waitcnt(imm: u16) -> String {
    let counts =
        [("vmcnt", imm & 15 | imm >> 14 << 4, 63), ("expcnt", imm >> 4 & 7, 7), ("lgkmcnt", imm >> 8 & 63, 63)];
    let none = counts.iter().all(|(_, count, most)| count == most);
    let shown = counts.iter().filter(|(_, count, most)| none || count != most);
    shown.map(|(name, count, _)| format!("{name}({count})")).collect::<Vec<_>>().join(" ")
}

fn hardware_register(imm: u16) -> String {
    const NAMES: [(u16, &str); 12] = [
        (1, "HW_REG_MODE"),
        (2, "HW_REG_STATUS"),
        (3, "HW_REG_TRAPSTS"),
        (5, "HW_REG_GPR_ALLOC"),
        (6, "HW_REG_LDS_ALLOC"),
        (7, "HW_REG_IB_STS"),
        (15, "HW_REG_SH_MEM_BASES"),
        (20, "HW_REG_FLAT_SCR_LO"),
        (21, "HW_REG_FLAT_SCR_HI"),
        (23, "HW_REG_HW_ID1"),
        (24, "HW_REG_HW_ID2"),
        (29, "HW_REG_SHADER_CYCLES"),
    ];
    let (register, offset, bits) = (imm & 63, imm >> 6 & 31, (imm >> 11) + 1);
    let name = NAMES.iter().find(|(number, _)| *number == register);
    let name = name.map_or_else(|| register.to_string(), |(_, name)| (*name).to_owned());
    if (offset, bits) == (0, 32) { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {bits})") }
}

fn message(imm: u16) -> String {
    match imm {
        9 => "sendmsg(MSG_GS_ALLOC_REQ)".to_owned(),
        1 => "sendmsg(MSG_INTERRUPT)".to_owned(),
        _ => format!("sendmsg({}, {}, {})", imm & 15, imm >> 4 & 7, imm >> 8 & 3),
    }
}
