//! The instructions we know: one line each, with what every generation shares about them.
//!
//! A line says name, mnemonic, encoding format, and how many registers its data (destination) and how many sources it has.
//! The opcode numbers are in `tables/`, one file a generation.

macro_rules! formats {
    ($($format:ident $name:literal $what:literal;)*) => {
        /// An encoding format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Format { $(#[doc = $what] $format,)* }

        impl Format {
            /// Every format.
            pub const ALL: &'static [Self] = &[$(Self::$format,)*];

            /// The name in the opcode tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$format => $name,)* }
            }
        }
    };
}

formats! {
    Sop2 "SOP2" "Scalar, two sources.";
    Sopk "SOPK" "Scalar, 16-bit constant.";
    Sop1 "SOP1" "Scalar, one source.";
    Sopc "SOPC" "Scalar compare.";
    Sopp "SOPP" "Scalar, program control, 16-bit immediate.";
    Smem "SMEM" "Scalar memory.";
    Vop2 "VOP2" "Vector, two sources, the second a VGPR; otherwise it takes the long form of VOP3.";
    Vop1 "VOP1" "Vector, one source.";
    Vopc "VOPC" "Vector compare.";
    Vop3 "VOP3" "Vector, up to three sources of any kind.";
    Vop3p "VOP3P" "Vector, packed halves.";
    Vintrp "VINTRP" "Parameter interpolation.";
    Ds "DS" "Local data share.";
    Flat "FLAT" "Memory by a flat address.";
    Scratch "SCRATCH" "A lane's own memory.";
    Global "GLOBAL" "Memory by a global address.";
    Mubuf "MUBUF" "Untyped buffer access.";
    Mtbuf "MTBUF" "Typed buffer access.";
    Mimg "MIMG" "Image access.";
    Exp "EXP" "Export.";
}

macro_rules! ops {
    ($($op:ident $mnemonic:literal $format:ident $data:literal $sources:literal;)*) => {
        /// An instruction, whatever its operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each is its own mnemonic")]
        pub enum Op { $($op,)* }

        impl Op {
            /// Every instruction.
            pub const ALL: &'static [Self] = &[$(Self::$op,)*];

            /// The assembler's name, without the suffix of an encoding.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Self::$op => $mnemonic,)* }
            }

            /// How it is encoded.
            pub const fn format(self) -> Format {
                match self { $(Self::$op => Format::$format,)* }
            }

            /// Registers of the destination, or of the data that a memory access moves.
            pub const fn data_registers(self) -> u8 {
                match self { $(Self::$op => $data,)* }
            }

            /// Source operands of an arithmetic instruction.
            pub const fn sources(self) -> usize {
                match self { $(Self::$op => $sources,)* }
            }
        }
    };
}

ops! {
    SNop "s_nop" Sopp 0 0;
    SEndpgm "s_endpgm" Sopp 0 0;
    SBranch "s_branch" Sopp 0 0;
    SWaitcnt "s_waitcnt" Sopp 0 0;
    SCodeEnd "s_code_end" Sopp 0 0;
    SMovB32 "s_mov_b32" Sop1 1 1;
    SGetpcB64 "s_getpc_b64" Sop1 2 0;
    SAddU32 "s_add_u32" Sop2 1 2;
    SAddI32 "s_add_i32" Sop2 1 2;
    SAddcU32 "s_addc_u32" Sop2 1 2;
    SAndB32 "s_and_b32" Sop2 1 2;
    SLshlB32 "s_lshl_b32" Sop2 1 2;
    SMulI32 "s_mul_i32" Sop2 1 2;
    SMulHiU32 "s_mul_hi_u32" Sop2 1 2;
    SLoadDword "s_load_dword" Smem 1 0;
    SLoadDwordx2 "s_load_dwordx2" Smem 2 0;
    SLoadDwordx4 "s_load_dwordx4" Smem 4 0;
    SLoadDwordx8 "s_load_dwordx8" Smem 8 0;
    SLoadDwordx16 "s_load_dwordx16" Smem 16 0;
    VMovB32 "v_mov_b32" Vop1 1 1;
    VCvtF16F32 "v_cvt_f16_f32" Vop1 1 1;
    VCvtF32F16 "v_cvt_f32_f16" Vop1 1 1;
    VMinF32 "v_min_f32" Vop2 1 2;
    VMaxF32 "v_max_f32" Vop2 1 2;
    VMinI32 "v_min_i32" Vop2 1 2;
    VMaxI32 "v_max_i32" Vop2 1 2;
    VMinU32 "v_min_u32" Vop2 1 2;
    VMaxU32 "v_max_u32" Vop2 1 2;
    VLshrrevB32 "v_lshrrev_b32" Vop2 1 2;
    VAshrrevI32 "v_ashrrev_i32" Vop2 1 2;
    VLshlrevB32 "v_lshlrev_b32" Vop2 1 2;
    VAndB32 "v_and_b32" Vop2 1 2;
    VOrB32 "v_or_b32" Vop2 1 2;
    VAddNcU32 "v_add_nc_u32" Vop2 1 2;
    VSubNcU32 "v_sub_nc_u32" Vop2 1 2;
    VCvtPkrtzF16F32 "v_cvt_pkrtz_f16_f32" Vop2 1 2;
    VCndmaskB32 "v_cndmask_b32" Vop3 1 2;
    VBfeU32 "v_bfe_u32" Vop3 1 3;
    VBfeI32 "v_bfe_i32" Vop3 1 3;
    VMulLoU32 "v_mul_lo_u32" Vop3 1 2;
    VMulHiU32 "v_mul_hi_u32" Vop3 1 2;
    VPackB32F16 "v_pack_b32_f16" Vop3 1 2;
    VCvtPknormI16F32 "v_cvt_pknorm_i16_f32" Vop3 1 2;
    VCvtPknormU16F32 "v_cvt_pknorm_u16_f32" Vop3 1 2;
    VCvtPkU16U32 "v_cvt_pk_u16_u32" Vop3 1 2;
    VCvtPkI16I32 "v_cvt_pk_i16_i32" Vop3 1 2;
    BufferLoadUbyte "buffer_load_ubyte" Mubuf 1 0;
    BufferLoadSbyte "buffer_load_sbyte" Mubuf 1 0;
    BufferLoadUshort "buffer_load_ushort" Mubuf 1 0;
    BufferLoadSshort "buffer_load_sshort" Mubuf 1 0;
    BufferLoadDword "buffer_load_dword" Mubuf 1 0;
    BufferLoadDwordx2 "buffer_load_dwordx2" Mubuf 2 0;
    BufferLoadDwordx3 "buffer_load_dwordx3" Mubuf 3 0;
    BufferLoadDwordx4 "buffer_load_dwordx4" Mubuf 4 0;
    TbufferLoadFormatX "tbuffer_load_format_x" Mtbuf 1 0;
    TbufferLoadFormatXy "tbuffer_load_format_xy" Mtbuf 2 0;
    TbufferLoadFormatXyz "tbuffer_load_format_xyz" Mtbuf 3 0;
    TbufferLoadFormatXyzw "tbuffer_load_format_xyzw" Mtbuf 4 0;
    TbufferLoadFormatD16X "tbuffer_load_format_d16_x" Mtbuf 1 0;
    TbufferLoadFormatD16Xy "tbuffer_load_format_d16_xy" Mtbuf 1 0;
    TbufferLoadFormatD16Xyz "tbuffer_load_format_d16_xyz" Mtbuf 2 0;
    TbufferLoadFormatD16Xyzw "tbuffer_load_format_d16_xyzw" Mtbuf 2 0;
    Exp "exp" Exp 0 0;
}
