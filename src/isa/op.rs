//! Operations of all instruction sets, by meaning.
//!
//! An operation has the name that the assembler of gfx10 gives it, or of the first generation that has it. Number,
//! format, operands and mnemonic are a row of each family's table in `tables/`, and differ between families.

macro_rules! operations {
    ($($op:ident)*) => {
        /// An operation of a machine instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "each is its own mnemonic")]
        pub enum Op { $($op,)* }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$op,)*];
        }
    };
}

operations! {
    SAddU32 SSubU32 SAddI32 SSubI32 SAddcU32 SSubbU32 SMinI32 SMinU32 SMaxI32 SMaxU32 SCselectB32 SCselectB64 SAndB32
    SAndB64 SOrB32 SOrB64 SXorB32 SXorB64 SAndn2B32 SAndn2B64 SOrn2B32 SOrn2B64 SNandB32 SNandB64 SNorB32 SNorB64
    SXnorB32 SXnorB64 SLshlB32 SLshlB64 SLshrB32 SLshrB64 SAshrI32 SAshrI64 SBfmB32 SBfmB64 SMulI32 SBfeU32 SBfeI32
    SBfeU64 SBfeI64 SAbsdiffI32 SLshl1AddU32 SLshl2AddU32 SLshl3AddU32 SLshl4AddU32 SPackLlB32B16 SPackLhB32B16
    SPackHhB32B16 SMulHiU32 SMulHiI32 SMovkI32 SVersion SCmovkI32 SCmpkEqI32 SCmpkLgI32 SCmpkGtI32 SCmpkGeI32
    SCmpkLtI32 SCmpkLeI32 SCmpkEqU32 SCmpkLgU32 SCmpkGtU32 SCmpkGeU32 SCmpkLtU32 SCmpkLeU32 SAddkI32 SMulkI32
    SGetregB32 SSetregB32 SSetregImm32B32 SCallB64 SWaitcntVscnt SWaitcntVmcnt SWaitcntExpcnt SWaitcntLgkmcnt
    SSubvectorLoopBegin SSubvectorLoopEnd SMovB32 SMovB64 SCmovB32 SCmovB64 SNotB32 SNotB64 SWqmB32 SWqmB64 SBrevB32
    SBrevB64 SBcnt0I32B32 SBcnt0I32B64 SBcnt1I32B32 SBcnt1I32B64 SFf0I32B32 SFf0I32B64 SFf1I32B32 SFf1I32B64
    SFlbitI32B32 SFlbitI32B64 SFlbitI32 SFlbitI32I64 SSextI32I8 SSextI32I16 SBitset0B32 SBitset0B64 SBitset1B32
    SBitset1B64 SGetpcB64 SSetpcB64 SSwappcB64 SRfeB64 SAndSaveexecB64 SOrSaveexecB64 SXorSaveexecB64
    SAndn2SaveexecB64 SOrn2SaveexecB64 SNandSaveexecB64 SNorSaveexecB64 SXnorSaveexecB64 SQuadmaskB32 SQuadmaskB64
    SMovrelsB32 SMovrelsB64 SMovreldB32 SMovreldB64 SAbsI32 SAndn1SaveexecB64 SOrn1SaveexecB64 SAndn1WrexecB64
    SAndn2WrexecB64 SBitreplicateB64B32 SAndSaveexecB32 SOrSaveexecB32 SXorSaveexecB32 SAndn2SaveexecB32
    SOrn2SaveexecB32 SNandSaveexecB32 SNorSaveexecB32 SXnorSaveexecB32 SAndn1SaveexecB32 SOrn1SaveexecB32
    SAndn1WrexecB32 SAndn2WrexecB32 SMovrelsd2B32 SCmpEqI32 SCmpLgI32 SCmpGtI32 SCmpGeI32 SCmpLtI32 SCmpLeI32
    SCmpEqU32 SCmpLgU32 SCmpGtU32 SCmpGeU32 SCmpLtU32 SCmpLeU32 SBitcmp0B32 SBitcmp1B32 SBitcmp0B64 SBitcmp1B64
    SCmpEqU64 SCmpLgU64 SNop SEndpgm SBranch SWakeup SCbranchScc0 SCbranchScc1 SCbranchVccz SCbranchVccnz
    SCbranchExecz SCbranchExecnz SBarrier SSetkill SWaitcnt SSethalt SSleep SSetprio SSendmsg SSendmsghalt STrap
    SIcacheInv SIncperflevel SDecperflevel STtracedata SCbranchCdbgsys SCbranchCdbguser SCbranchCdbgsysOrUser
    SCbranchCdbgsysAndUser SEndpgmSaved SEndpgmOrderedPsDone SCodeEnd SInstPrefetch SClause SWaitIdle SWaitcntDepctr
    SRoundMode SDenormMode STtracedataImm SLoadDword SLoadDwordx2 SLoadDwordx4 SLoadDwordx8 SLoadDwordx16
    SBufferLoadDword SBufferLoadDwordx2 SBufferLoadDwordx4 SBufferLoadDwordx8 SBufferLoadDwordx16 SGl1Inv SDcacheInv
    SMemtime SMemrealtime SAtcProbe SAtcProbeBuffer VCndmaskB32 VDot2cF32F16 VAddF32 VSubF32 VSubrevF32 VFmacLegacyF32
    VMulLegacyF32 VMulF32 VMulI32I24 VMulHiI32I24 VMulU32U24 VMulHiU32U24 VDot4cI32I8 VMinF32 VMaxF32 VMinI32 VMaxI32
    VMinU32 VMaxU32 VLshrrevB32 VAshrrevI32 VLshlrevB32 VAndB32 VOrB32 VXorB32 VXnorB32 VAddNcU32 VSubNcU32
    VSubrevNcU32 VAddCoCiU32 VSubCoCiU32 VSubrevCoCiU32 VFmacF32 VFmamkF32 VFmaakF32 VCvtPkrtzF16F32 VAddF16 VSubF16
    VSubrevF16 VMulF16 VFmacF16 VFmamkF16 VFmaakF16 VMaxF16 VMinF16 VLdexpF16 VPkFmacF16 VNop VMovB32
    VReadfirstlaneB32 VCvtI32F64 VCvtF64I32 VCvtF32I32 VCvtF32U32 VCvtU32F32 VCvtI32F32 VCvtF16F32 VCvtF32F16
    VCvtRpiI32F32 VCvtFlrI32F32 VCvtOffF32I4 VCvtF32F64 VCvtF64F32 VCvtF32Ubyte0 VCvtF32Ubyte1 VCvtF32Ubyte2
    VCvtF32Ubyte3 VCvtU32F64 VCvtF64U32 VTruncF64 VCeilF64 VRndneF64 VFloorF64 VPipeflush VFractF32 VTruncF32 VCeilF32
    VRndneF32 VFloorF32 VExpF32 VLogF32 VRcpF32 VRcpIflagF32 VRsqF32 VRcpF64 VRsqF64 VSqrtF32 VSqrtF64 VSinF32 VCosF32
    VNotB32 VBfrevB32 VFfbhU32 VFfblB32 VFfbhI32 VFrexpExpI32F64 VFrexpMantF64 VFractF64 VFrexpExpI32F32 VFrexpMantF32
    VClrexcp VMovreldB32 VMovrelsB32 VMovrelsdB32 VMovrelsd2B32 VCvtF16U16 VCvtF16I16 VCvtU16F16 VCvtI16F16 VRcpF16
    VSqrtF16 VRsqF16 VLogF16 VExpF16 VFrexpMantF16 VFrexpExpI16F16 VFloorF16 VCeilF16 VTruncF16 VRndneF16 VFractF16
    VSinF16 VCosF16 VSatPkU8I16 VCvtNormI16F16 VCvtNormU16F16 VSwapB32 VSwaprelB32 VCmpFF32 VCmpLtF32 VCmpEqF32
    VCmpLeF32 VCmpGtF32 VCmpLgF32 VCmpGeF32 VCmpOF32 VCmpUF32 VCmpNgeF32 VCmpNlgF32 VCmpNgtF32 VCmpNleF32 VCmpNeqF32
    VCmpNltF32 VCmpTruF32 VCmpxFF32 VCmpxLtF32 VCmpxEqF32 VCmpxLeF32 VCmpxGtF32 VCmpxLgF32 VCmpxGeF32 VCmpxOF32
    VCmpxUF32 VCmpxNgeF32 VCmpxNlgF32 VCmpxNgtF32 VCmpxNleF32 VCmpxNeqF32 VCmpxNltF32 VCmpxTruF32 VCmpFF64 VCmpLtF64
    VCmpEqF64 VCmpLeF64 VCmpGtF64 VCmpLgF64 VCmpGeF64 VCmpOF64 VCmpUF64 VCmpNgeF64 VCmpNlgF64 VCmpNgtF64 VCmpNleF64
    VCmpNeqF64 VCmpNltF64 VCmpTruF64 VCmpxFF64 VCmpxLtF64 VCmpxEqF64 VCmpxLeF64 VCmpxGtF64 VCmpxLgF64 VCmpxGeF64
    VCmpxOF64 VCmpxUF64 VCmpxNgeF64 VCmpxNlgF64 VCmpxNgtF64 VCmpxNleF64 VCmpxNeqF64 VCmpxNltF64 VCmpxTruF64 VCmpFI32
    VCmpLtI32 VCmpEqI32 VCmpLeI32 VCmpGtI32 VCmpNeI32 VCmpGeI32 VCmpTI32 VCmpClassF32 VCmpLtI16 VCmpEqI16 VCmpLeI16
    VCmpGtI16 VCmpNeI16 VCmpGeI16 VCmpClassF16 VCmpxFI32 VCmpxLtI32 VCmpxEqI32 VCmpxLeI32 VCmpxGtI32 VCmpxNeI32
    VCmpxGeI32 VCmpxTI32 VCmpxClassF32 VCmpxLtI16 VCmpxEqI16 VCmpxLeI16 VCmpxGtI16 VCmpxNeI16 VCmpxGeI16 VCmpxClassF16
    VCmpFI64 VCmpLtI64 VCmpEqI64 VCmpLeI64 VCmpGtI64 VCmpNeI64 VCmpGeI64 VCmpTI64 VCmpClassF64 VCmpLtU16 VCmpEqU16
    VCmpLeU16 VCmpGtU16 VCmpNeU16 VCmpGeU16 VCmpxFI64 VCmpxLtI64 VCmpxEqI64 VCmpxLeI64 VCmpxGtI64 VCmpxNeI64
    VCmpxGeI64 VCmpxTI64 VCmpxClassF64 VCmpxLtU16 VCmpxEqU16 VCmpxLeU16 VCmpxGtU16 VCmpxNeU16 VCmpxGeU16 VCmpFU32
    VCmpLtU32 VCmpEqU32 VCmpLeU32 VCmpGtU32 VCmpNeU32 VCmpGeU32 VCmpTU32 VCmpFF16 VCmpLtF16 VCmpEqF16 VCmpLeF16
    VCmpGtF16 VCmpLgF16 VCmpGeF16 VCmpOF16 VCmpxFU32 VCmpxLtU32 VCmpxEqU32 VCmpxLeU32 VCmpxGtU32 VCmpxNeU32 VCmpxGeU32
    VCmpxTU32 VCmpxFF16 VCmpxLtF16 VCmpxEqF16 VCmpxLeF16 VCmpxGtF16 VCmpxLgF16 VCmpxGeF16 VCmpxOF16 VCmpFU64 VCmpLtU64
    VCmpEqU64 VCmpLeU64 VCmpGtU64 VCmpNeU64 VCmpGeU64 VCmpTU64 VCmpUF16 VCmpNgeF16 VCmpNlgF16 VCmpNgtF16 VCmpNleF16
    VCmpNeqF16 VCmpNltF16 VCmpTruF16 VCmpxFU64 VCmpxLtU64 VCmpxEqU64 VCmpxLeU64 VCmpxGtU64 VCmpxNeU64 VCmpxGeU64
    VCmpxTU64 VCmpxUF16 VCmpxNgeF16 VCmpxNlgF16 VCmpxNgtF16 VCmpxNleF16 VCmpxNeqF16 VCmpxNltF16 VCmpxTruF16
    VFmaLegacyF32 VMadI32I24 VMadU32U24 VCubeidF32 VCubescF32 VCubetcF32 VCubemaF32 VBfeU32 VBfeI32 VBfiB32 VFmaF32
    VFmaF64 VLerpU8 VAlignbitB32 VAlignbyteB32 VMullitF32 VMin3F32 VMin3I32 VMin3U32 VMax3F32 VMax3I32 VMax3U32
    VMed3F32 VMed3I32 VMed3U32 VSadU8 VSadHiU8 VSadU16 VSadU32 VCvtPkU8F32 VDivFixupF32 VDivFixupF64 VAddF64 VMulF64
    VMinF64 VMaxF64 VLdexpF64 VMulLoU32 VMulHiU32 VMulHiI32 VDivScaleF32 VDivScaleF64 VDivFmasF32 VDivFmasF64 VMsadU8
    VQsadPkU16U8 VMqsadPkU16U8 VTrigPreopF64 VMqsadU32U8 VMadU64U32 VMadI64I32 VXor3B32 VInterpP1F32E64
    VInterpP2F32E64 VInterpMovF32E64 VLshlrevB64 VLshrrevB64 VAshrrevI64 VAddNcU16 VSubNcU16 VMulLoU16 VLshrrevB16
    VAshrrevI16 VMaxU16 VMaxI16 VMinU16 VMinI16 VAddNcI16 VSubNcI16 VAddCoU32 VSubCoU32 VPackB32F16 VCvtPknormI16F16
    VCvtPknormU16F16 VLshlrevB16 VSubrevCoU32 VMadU16 VInterpP1llF16 VInterpP1lvF16 VPermB32 VXadU32 VLshlAddU32
    VAddLshlU32 VFmaF16 VMin3F16 VMin3I16 VMin3U16 VMax3F16 VMax3I16 VMax3U16 VMed3F16 VMed3I16 VMed3U16 VInterpP2F16
    VMadI16 VDivFixupF16 VReadlaneB32 VWritelaneB32 VLdexpF32 VBfmB32 VBcntU32B32 VMbcntLoU32B32 VMbcntHiU32B32
    VCvtPknormI16F32 VCvtPknormU16F32 VCvtPkU16U32 VCvtPkI16I32 VAdd3U32 VLshlOrB32 VAndOrB32 VOr3B32 VMadU32U16
    VMadI32I16 VSubNcI32 VPermlane16B32 VPermlanex16B32 VAddNcI32 VPkMadI16 VPkMulLoU16 VPkAddI16 VPkSubI16
    VPkLshlrevB16 VPkLshrrevB16 VPkAshrrevI16 VPkMaxI16 VPkMinI16 VPkMadU16 VPkAddU16 VPkSubU16 VPkMaxU16 VPkMinU16
    VPkFmaF16 VPkAddF16 VPkMulF16 VPkMinF16 VPkMaxF16 VDot2F32F16 VDot2I32I16 VDot2U32U16 VDot4I32I8 VDot4U32U8
    VDot8I32I4 VDot8U32U4 VFmaMixF32 VFmaMixloF16 VFmaMixhiF16 VInterpP1F32 VInterpP2F32 VInterpMovF32 DsAddU32
    DsSubU32 DsRsubU32 DsIncU32 DsDecU32 DsMinI32 DsMaxI32 DsMinU32 DsMaxU32 DsAndB32 DsOrB32 DsXorB32 DsMskorB32
    DsWriteB32 DsWrite2B32 DsWrite2st64B32 DsCmpstB32 DsCmpstF32 DsMinF32 DsMaxF32 DsNop DsAddF32 DsGwsSemaReleaseAll
    DsGwsInit DsGwsSemaV DsGwsSemaBr DsGwsSemaP DsGwsBarrier DsWriteB8 DsWriteB16 DsAddRtnU32 DsSubRtnU32 DsRsubRtnU32
    DsIncRtnU32 DsDecRtnU32 DsMinRtnI32 DsMaxRtnI32 DsMinRtnU32 DsMaxRtnU32 DsAndRtnB32 DsOrRtnB32 DsXorRtnB32
    DsMskorRtnB32 DsWrxchgRtnB32 DsWrxchg2RtnB32 DsWrxchg2st64RtnB32 DsCmpstRtnB32 DsCmpstRtnF32 DsMinRtnF32
    DsMaxRtnF32 DsWrapRtnB32 DsSwizzleB32 DsReadB32 DsRead2B32 DsRead2st64B32 DsReadI8 DsReadU8 DsReadI16 DsReadU16
    DsConsume DsAppend DsOrderedCount DsAddU64 DsSubU64 DsRsubU64 DsIncU64 DsDecU64 DsMinI64 DsMaxI64 DsMinU64
    DsMaxU64 DsAndB64 DsOrB64 DsXorB64 DsMskorB64 DsWriteB64 DsWrite2B64 DsWrite2st64B64 DsCmpstB64 DsCmpstF64
    DsMinF64 DsMaxF64 DsAddRtnF32 DsAddRtnU64 DsSubRtnU64 DsRsubRtnU64 DsIncRtnU64 DsDecRtnU64 DsMinRtnI64 DsMaxRtnI64
    DsMinRtnU64 DsMaxRtnU64 DsAndRtnB64 DsOrRtnB64 DsXorRtnB64 DsMskorRtnB64 DsWrxchgRtnB64 DsWrxchg2RtnB64
    DsWrxchg2st64RtnB64 DsCmpstRtnB64 DsCmpstRtnF64 DsMinRtnF64 DsMaxRtnF64 DsReadB64 DsRead2B64 DsRead2st64B64
    DsCondxchg32RtnB64 DsWriteB8D16Hi DsWriteB16D16Hi DsReadU8D16 DsReadU8D16Hi DsReadI8D16 DsReadI8D16Hi DsReadU16D16
    DsReadU16D16Hi DsWriteAddtidB32 DsReadAddtidB32 DsPermuteB32 DsBpermuteB32 DsWriteB96 DsWriteB128 DsReadB96
    DsReadB128 FlatLoadUbyte FlatLoadSbyte FlatLoadUshort FlatLoadSshort FlatLoadDword FlatLoadDwordx2 FlatLoadDwordx4
    FlatLoadDwordx3 FlatStoreByte FlatStoreByteD16Hi FlatStoreShort FlatStoreShortD16Hi FlatStoreDword
    FlatStoreDwordx2 FlatStoreDwordx4 FlatStoreDwordx3 FlatLoadUbyteD16 FlatLoadUbyteD16Hi FlatLoadSbyteD16
    FlatLoadSbyteD16Hi FlatLoadShortD16 FlatLoadShortD16Hi FlatAtomicSwap FlatAtomicCmpswap FlatAtomicAdd
    FlatAtomicSub FlatAtomicSmin FlatAtomicUmin FlatAtomicSmax FlatAtomicUmax FlatAtomicAnd FlatAtomicOr FlatAtomicXor
    FlatAtomicInc FlatAtomicDec FlatAtomicFcmpswap FlatAtomicFmin FlatAtomicFmax FlatAtomicSwapX2 FlatAtomicCmpswapX2
    FlatAtomicAddX2 FlatAtomicSubX2 FlatAtomicSminX2 FlatAtomicUminX2 FlatAtomicSmaxX2 FlatAtomicUmaxX2
    FlatAtomicAndX2 FlatAtomicOrX2 FlatAtomicXorX2 FlatAtomicIncX2 FlatAtomicDecX2 FlatAtomicFcmpswapX2
    FlatAtomicFminX2 FlatAtomicFmaxX2 ScratchLoadUbyte ScratchLoadSbyte ScratchLoadUshort ScratchLoadSshort
    ScratchLoadDword ScratchLoadDwordx2 ScratchLoadDwordx4 ScratchLoadDwordx3 ScratchStoreByte ScratchStoreByteD16Hi
    ScratchStoreShort ScratchStoreShortD16Hi ScratchStoreDword ScratchStoreDwordx2 ScratchStoreDwordx4
    ScratchStoreDwordx3 ScratchLoadUbyteD16 ScratchLoadUbyteD16Hi ScratchLoadSbyteD16 ScratchLoadSbyteD16Hi
    ScratchLoadShortD16 ScratchLoadShortD16Hi GlobalLoadUbyte GlobalLoadSbyte GlobalLoadUshort GlobalLoadSshort
    GlobalLoadDword GlobalLoadDwordx2 GlobalLoadDwordx4 GlobalLoadDwordx3 GlobalLoadDwordAddtid GlobalStoreDwordAddtid
    GlobalStoreByte GlobalStoreByteD16Hi GlobalStoreShort GlobalStoreShortD16Hi GlobalStoreDword GlobalStoreDwordx2
    GlobalStoreDwordx4 GlobalStoreDwordx3 GlobalLoadUbyteD16 GlobalLoadUbyteD16Hi GlobalLoadSbyteD16
    GlobalLoadSbyteD16Hi GlobalLoadShortD16 GlobalLoadShortD16Hi GlobalAtomicSwap GlobalAtomicCmpswap GlobalAtomicAdd
    GlobalAtomicSub GlobalAtomicCsub GlobalAtomicSmin GlobalAtomicUmin GlobalAtomicSmax GlobalAtomicUmax
    GlobalAtomicAnd GlobalAtomicOr GlobalAtomicXor GlobalAtomicInc GlobalAtomicDec GlobalAtomicFcmpswap
    GlobalAtomicFmin GlobalAtomicFmax GlobalAtomicSwapX2 GlobalAtomicCmpswapX2 GlobalAtomicAddX2 GlobalAtomicSubX2
    GlobalAtomicSminX2 GlobalAtomicUminX2 GlobalAtomicSmaxX2 GlobalAtomicUmaxX2 GlobalAtomicAndX2 GlobalAtomicOrX2
    GlobalAtomicXorX2 GlobalAtomicIncX2 GlobalAtomicDecX2 GlobalAtomicFcmpswapX2 GlobalAtomicFminX2 GlobalAtomicFmaxX2
    BufferLoadFormatX BufferLoadFormatXy BufferLoadFormatXyz BufferLoadFormatXyzw BufferStoreFormatX
    BufferStoreFormatXy BufferStoreFormatXyz BufferStoreFormatXyzw BufferLoadUbyte BufferLoadSbyte BufferLoadUshort
    BufferLoadSshort BufferLoadDword BufferLoadDwordx2 BufferLoadDwordx4 BufferLoadDwordx3 BufferStoreByte
    BufferStoreByteD16Hi BufferStoreShort BufferStoreShortD16Hi BufferStoreDword BufferStoreDwordx2 BufferStoreDwordx4
    BufferStoreDwordx3 BufferLoadUbyteD16 BufferLoadUbyteD16Hi BufferLoadSbyteD16 BufferLoadSbyteD16Hi
    BufferLoadShortD16 BufferLoadShortD16Hi BufferLoadFormatD16HiX BufferStoreFormatD16HiX BufferAtomicSwap
    BufferAtomicCmpswap BufferAtomicAdd BufferAtomicSub BufferAtomicCsub BufferAtomicSmin BufferAtomicUmin
    BufferAtomicSmax BufferAtomicUmax BufferAtomicAnd BufferAtomicOr BufferAtomicXor BufferAtomicInc BufferAtomicDec
    BufferAtomicFcmpswap BufferAtomicFmin BufferAtomicFmax BufferAtomicSwapX2 BufferAtomicCmpswapX2 BufferAtomicAddX2
    BufferAtomicSubX2 BufferAtomicSminX2 BufferAtomicUminX2 BufferAtomicSmaxX2 BufferAtomicUmaxX2 BufferAtomicAndX2
    BufferAtomicOrX2 BufferAtomicXorX2 BufferAtomicIncX2 BufferAtomicDecX2 BufferAtomicFcmpswapX2 BufferAtomicFminX2
    BufferAtomicFmaxX2 BufferGl0Inv BufferGl1Inv BufferLoadFormatD16X BufferLoadFormatD16Xy BufferLoadFormatD16Xyz
    BufferLoadFormatD16Xyzw BufferStoreFormatD16X BufferStoreFormatD16Xy BufferStoreFormatD16Xyz
    BufferStoreFormatD16Xyzw TbufferLoadFormatX TbufferLoadFormatXy TbufferLoadFormatXyz TbufferLoadFormatXyzw
    TbufferStoreFormatX TbufferStoreFormatXy TbufferStoreFormatXyz TbufferStoreFormatXyzw TbufferLoadFormatD16X
    TbufferLoadFormatD16Xy TbufferLoadFormatD16Xyz TbufferLoadFormatD16Xyzw TbufferStoreFormatD16X
    TbufferStoreFormatD16Xy TbufferStoreFormatD16Xyz TbufferStoreFormatD16Xyzw ImageLoad ImageLoadMip ImageLoadPck
    ImageLoadPckSgn ImageLoadMipPck ImageLoadMipPckSgn ImageStore ImageStoreMip ImageStorePck ImageStoreMipPck
    ImageGetResinfo ImageAtomicSwap ImageAtomicCmpswap ImageAtomicAdd ImageAtomicSub ImageAtomicSmin ImageAtomicUmin
    ImageAtomicSmax ImageAtomicUmax ImageAtomicAnd ImageAtomicOr ImageAtomicXor ImageAtomicInc ImageAtomicDec
    ImageAtomicFcmpswap ImageAtomicFmin ImageAtomicFmax ImageSample ImageSampleCl ImageSampleD ImageSampleDCl
    ImageSampleL ImageSampleB ImageSampleBCl ImageSampleLz ImageSampleC ImageSampleCCl ImageSampleCD ImageSampleCDCl
    ImageSampleCL ImageSampleCB ImageSampleCBCl ImageSampleCLz ImageSampleO ImageSampleClO ImageSampleDO
    ImageSampleDClO ImageSampleLO ImageSampleBO ImageSampleBClO ImageSampleLzO ImageSampleCO ImageSampleCClO
    ImageSampleCDO ImageSampleCDClO ImageSampleCLO ImageSampleCBO ImageSampleCBClO ImageSampleCLzO ImageGather4
    ImageGather4Cl ImageGather4L ImageGather4B ImageGather4BCl ImageGather4Lz ImageGather4C ImageGather4CCl
    ImageGather4CL ImageGather4CB ImageGather4CBCl ImageGather4CLz ImageGather4O ImageGather4ClO ImageGather4LO
    ImageGather4BO ImageGather4BClO ImageGather4LzO ImageGather4CO ImageGather4CClO ImageGather4CLO ImageGather4CBO
    ImageGather4CBClO ImageGather4CLzO ImageGetLod ImageGather4h ImageSampleCd ImageSampleCdCl ImageSampleCCd
    ImageSampleCCdCl ImageSampleCdO ImageSampleCdClO ImageSampleCCdO ImageSampleCCdClO ImageMsaaLoad ImageSampleDG16
    ImageSampleDClG16 ImageSampleCDG16 ImageSampleCDClG16 ImageSampleDOG16 ImageSampleDClOG16 ImageSampleCDOG16
    ImageSampleCDClOG16 ImageBvhIntersectRay ImageBvh64IntersectRay ImageSampleCdG16 ImageSampleCdClG16
    ImageSampleCCdG16 ImageSampleCCdClG16 ImageSampleCdOG16 ImageSampleCdClOG16 ImageSampleCCdOG16
    ImageSampleCCdClOG16 Exp
    DsAddSrc2U32 DsSubSrc2U32 DsRsubSrc2U32 DsIncSrc2U32 DsDecSrc2U32 DsMinSrc2I32 DsMaxSrc2I32 DsMinSrc2U32
    DsMaxSrc2U32 DsAndSrc2B32 DsOrSrc2B32 DsXorSrc2B32 DsWriteSrc2B32 DsMinSrc2F32 DsMaxSrc2F32 DsAddSrc2F32
    DsAddSrc2U64 DsSubSrc2U64 DsRsubSrc2U64 DsIncSrc2U64 DsDecSrc2U64 DsMinSrc2I64 DsMaxSrc2I64 DsMinSrc2U64
    DsMaxSrc2U64 DsAndSrc2B64 DsOrSrc2B64 DsXorSrc2B64 DsWriteSrc2B64 DsMinSrc2F64 DsMaxSrc2F64 SScratchLoadDword
    SScratchLoadDwordx2 SScratchLoadDwordx4 SStoreDword SStoreDwordx2 SStoreDwordx4 SScratchStoreDword
    SScratchStoreDwordx2 SScratchStoreDwordx4 SBufferStoreDword SBufferStoreDwordx2 SBufferStoreDwordx4 SDcacheWb
    SDcacheDiscard SDcacheDiscardX2 SGetWaveidInWorkgroup SBufferAtomicSwap SBufferAtomicCmpswap SBufferAtomicAdd
    SBufferAtomicSub SBufferAtomicSmin SBufferAtomicUmin SBufferAtomicSmax SBufferAtomicUmax SBufferAtomicAnd
    SBufferAtomicOr SBufferAtomicXor SBufferAtomicInc SBufferAtomicDec SBufferAtomicSwapX2 SBufferAtomicCmpswapX2
    SBufferAtomicAddX2 SBufferAtomicSubX2 SBufferAtomicSminX2 SBufferAtomicUminX2 SBufferAtomicSmaxX2
    SBufferAtomicUmaxX2 SBufferAtomicAndX2 SBufferAtomicOrX2 SBufferAtomicXorX2 SBufferAtomicIncX2 SBufferAtomicDecX2
    SAtomicSwap SAtomicCmpswap SAtomicAdd SAtomicSub SAtomicSmin SAtomicUmin SAtomicSmax SAtomicUmax SAtomicAnd
    SAtomicOr SAtomicXor SAtomicInc SAtomicDec SAtomicSwapX2 SAtomicCmpswapX2 SAtomicAddX2 SAtomicSubX2 SAtomicSminX2
    SAtomicUminX2 SAtomicSmaxX2 SAtomicUmaxX2 SAtomicAndX2 SAtomicOrX2 SAtomicXorX2 SAtomicIncX2 SAtomicDecX2
    VMacLegacyF32 VMacF32 VMadmkF32 VMadakF32 VMadLegacyF32 VMadF32 VMulLoI32
    SPackHlB32B16 SAddF32 SSubF32 SMinF32 SMaxF32 SMulF32 SFmaakF32 SFmamkF32 SFmacF32 SCvtPkRtzF16F32 SAddF16 SSubF16
    SMinF16 SMaxF16 SMulF16 SFmacF16 SSendmsgRtnB32 SSendmsgRtnB64 SCeilF32 SFloorF32 STruncF32 SRndneF32 SCvtF32I32
    SCvtF32U32 SCvtI32F32 SCvtU32F32 SCvtF16F32 SCvtF32F16 SCvtHiF32F16 SCeilF16 SFloorF16 STruncF16 SRndneF16 SCmpLtF32
    SCmpEqF32 SCmpLeF32 SCmpGtF32 SCmpLgF32 SCmpGeF32 SCmpOF32 SCmpUF32 SCmpNgeF32 SCmpNlgF32 SCmpNgtF32 SCmpNleF32
    SCmpNeqF32 SCmpNltF32 SCmpLtF16 SCmpEqF16 SCmpLeF16 SCmpGtF16 SCmpLgF16 SCmpGeF16 SCmpOF16 SCmpUF16 SCmpNgeF16
    SCmpNlgF16 SCmpNgtF16 SCmpNleF16 SCmpNeqF16 SCmpNltF16 SDelayAlu SWaitEvent VMovB16 VSwapB16 VPermlane64B32 VNotB16
    VCvtI32I16 VCvtU32U16 VCndmaskB16 VMaxminF32 VMinmaxF32 VMaxminF16 VMinmaxF16 VMaxminU32 VMinmaxU32 VMaxminI32
    VMinmaxI32 VDot2F16F16 VDot2Bf16Bf16 VCvtPkI16F32 VCvtPkU16F32 VAndB16 VOrB16 VXorB16 VDot2F32Bf16
    VWmmaF3216x16x16F16 VWmmaF3216x16x16Bf16 VWmmaF1616x16x16F16 VWmmaBf1616x16x16Bf16 VWmmaI3216x16x16Iu8
    VWmmaI3216x16x16Iu4 VInterpP10F32 VInterpP2InregF32 VInterpP10F16F32 VInterpP2F16F32 VInterpP10RtzF16F32
    VInterpP2RtzF16F32 LdsParamLoad LdsDirectLoad VDualFmacF32 VDualFmaakF32 VDualFmamkF32 VDualMulF32 VDualAddF32
    VDualSubF32 VDualSubrevF32 VDualMulDx9ZeroF32 VDualMovB32 VDualCndmaskB32 VDualMaxF32 VDualMinF32 VDualDot2accF32F16
    VDualDot2accF32Bf16 VDualAddNcU32 VDualLshlrevB32 VDualAndB32 DsAddGsRegRtn DsSubGsRegRtn DsBvhStackRtnB32
    FlatAtomicAddF32 GlobalAtomicAddF32 BufferAtomicAddF32 VDot4I32Iu8 VDot8I32Iu4 DsCmpstoreB32 DsCmpstoreF32
    DsCmpstoreB64 DsCmpstoreF64 DsCmpstoreRtnB32 DsCmpstoreRtnF32 DsCmpstoreRtnB64 DsCmpstoreRtnF64
    SMinimumF32 SMaximumF32 SMinimumF16 SMaximumF16 SAddNcU64 SSubNcU64 SMulU64 SBarrierSignal SBarrierSignalIsfirst
    SGetBarrierState SBarrierInit SBarrierJoin SAllocVgpr SSleepVar SBarrierWait SBarrierLeave SWaitLoadcnt
    SWaitStorecnt SWaitSamplecnt SWaitBvhcnt SWaitExpcnt SWaitDscnt SWaitKmcnt SWaitLoadcntDscnt SWaitStorecntDscnt
    SLoadB96 SLoadI8 SLoadU8 SLoadI16 SLoadU16 SBufferLoadB96 SBufferLoadI8 SBufferLoadU8 SBufferLoadI16
    SBufferLoadU16 SPrefetchInst SPrefetchInstPcRel SPrefetchData SBufferPrefetchData SPrefetchDataPcRel VCvtF32Fp8
    VCvtF32Bf8 VCvtPkF32Fp8 VCvtPkF32Bf8 VMinimum3F32 VMaximum3F32 VMinimum3F16 VMaximum3F16 VMinimummaximumF32
    VMaximumminimumF32 VMinimummaximumF16 VMaximumminimumF16 VSExpF32 VSExpF16 VSLogF32 VSLogF16 VSRcpF32 VSRcpF16
    VSRsqF32 VSRsqF16 VSSqrtF32 VSSqrtF16 VPermlane16VarB32 VPermlanex16VarB32 VMinimumF64 VMaximumF64 VMinimumF32
    VMaximumF32 VMinimumF16 VMaximumF16 VCvtPkFp8F32 VCvtPkBf8F32 VCvtSrFp8F32 VCvtSrBf8F32 VPkMinimumF16
    VPkMaximumF16 VDot4F32Fp8Bf8 VDot4F32Bf8Fp8 VDot4F32Fp8Fp8 VDot4F32Bf8Bf8 VWmmaF3216x16x16Fp8Fp8
    VWmmaF3216x16x16Fp8Bf8 VWmmaF3216x16x16Bf8Fp8 VWmmaF3216x16x16Bf8Bf8 VWmmaI3216x16x32Iu4 VSwmmacF3216x16x32F16
    VSwmmacF3216x16x32Bf16 VSwmmacF1616x16x32F16 VSwmmacBf1616x16x32Bf16 VSwmmacI3216x16x32Iu8 VSwmmacI3216x16x32Iu4
    VSwmmacI3216x16x64Iu4 VSwmmacF3216x16x32Fp8Fp8 VSwmmacF3216x16x32Fp8Bf8 VSwmmacF3216x16x32Bf8Fp8
    VSwmmacF3216x16x32Bf8Bf8 DsCondSubU32 DsSubClampU32 DsPkAddF16 DsPkAddBf16 DsCondSubRtnU32 DsSubClampRtnU32
    DsPkAddRtnF16 DsPkAddRtnBf16 DsBpermuteFiB32 DsBvhStackPush8Pop1RtnB32 DsBvhStackPush8Pop2RtnB64
    FlatAtomicSubClampU32 FlatAtomicCondSubU32 FlatAtomicPkAddF16 FlatAtomicPkAddBf16 ScratchLoadBlock
    ScratchStoreBlock GlobalInv GlobalWb GlobalWbinv GlobalAtomicCondSubU32 GlobalLoadBlock GlobalStoreBlock
    GlobalLoadTrB128 GlobalLoadTrB64 GlobalAtomicPkAddF16 GlobalAtomicPkAddBf16 GlobalAtomicOrderedAddB64
    BufferAtomicCondSubU32 BufferAtomicPkAddF16 BufferAtomicPkAddBf16 ImageBvhDualIntersectRay ImageBvh8IntersectRay
    ImageAtomicAddFlt ImageAtomicPkAddF16 ImageAtomicPkAddBf16
}
