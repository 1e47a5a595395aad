//! Words of the text form: a name for each variant of the small enums, in both directions.
//!
//! A variant with a payload is listed with a prototype; `text.rs` visits the payload. To add a variant: its word here.

use super::amd::WorkgroupWord;
use super::image::{Dim, ImageOp, LodMode, MimgDim, MimgOp};
use super::interface::{BuiltIn, ExportTarget, Interp, InterpPlace, OutputSlot};
use super::lanes::{QuadSwap, ReduceOp};
use super::memory::{AtomicOp, BufferKind, DescriptorPart, FenceOrder, Scope};
use super::name::Name;
use super::shader::{ArgRole, DenormMode, RegClass, RoundMode, ShaderLevel};
use dovetail_base::kinds::{DepthMode, NumericKind, ResourceKind};
use dovetail_base::target::{Stage, WaveSize};
use std::mem::discriminant;

/// An enum whose variants have names.
pub(super) trait Word: Clone + Sized + 'static {
    /// Name and prototype of every variant.
    const ALL: &'static [(&'static str, Self)];

    /// Its name in messages.
    const WHAT: &'static str;

    /// The variant's name; payloads are ignored.
    fn name(&self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| discriminant(p) == discriminant(self)).map_or("?", |(n, _)| n)
    }

    /// The prototype of this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, p)| p.clone())
    }
}

macro_rules! words {
    ($( $ty:ident $what:literal {
        $( $variant:ident $(($($x:expr),*))? $({$($f:ident: $e:expr),*})? $word:literal, )*
    } )*) => {
        $( impl Word for $ty {
            const ALL: &'static [(&'static str, Self)] =
                &[$( ($word, $ty::$variant $(($($x),*))? $({$($f: $e),*})?), )*];
            const WHAT: &'static str = $what;
        } )*
        #[cfg(test)]
        mod tests {
            use super::*;
            #[test]
            fn words_are_unique_and_name_themselves() {
                $( for (name, proto) in <$ty as Word>::ALL {
                    assert_eq!(proto.name(), *name);
                    assert_eq!(<$ty as Word>::ALL.iter().filter(|(n, _)| n == name).count(), 1, "{name}");
                } )*
            }
        }
    };
}

words! {
    WorkgroupWord "workgroup id" { X "x", Yz "yz", }
    ShaderLevel "level" { Upper "upper", Lower "lower", }
    Stage "stage" { Vertex "vertex", Fragment "fragment", Compute "compute", }
    WaveSize "wave size" { W32 "wave32", W64 "wave64", }
    RegClass "register class" { Sgpr "sgpr", Vgpr "vgpr", }
    ArgRole "role" {
        UserData(Name::EMPTY) "user",
        System("") "system",
        VertexInput { location: 0, component: 0 } "vertex",
    }
    DenormMode "denormal mode" { Any "any", Flush "flush", Preserve "preserve", }
    RoundMode "rounding mode" { NearestEven "rte", TowardZero "rtz", }
    DepthMode "depth mode" { Any "any", Greater "greater", Less "less", Unchanged "unchanged", }
    ResourceKind "resource kind" {
        UniformBuffer "uniform_buffer",
        StorageBuffer "storage_buffer",
        SampledImage "sampled_image",
        Sampler "sampler",
        CombinedImageSampler "combined_image_sampler",
        StorageImage "storage_image",
        UniformTexelBuffer "uniform_texel_buffer",
        StorageTexelBuffer "storage_texel_buffer",
        InputAttachment "input_attachment",
    }
    BufferKind "buffer kind" { Uniform "uniform", Storage "storage", }
    DescriptorPart "descriptor part" {
        Buffer "buffer", Image "image", Sampler "sampler", TexelBuffer "texel_buffer",
        Image1 "image1", Image2 "image2",
    }
    NumericKind "numeric kind" { Float "float", Sint "sint", Uint "uint", }
    AtomicOp "atomic operation" {
        Load "load", Store "store", Exchange "xchg", CompareExchange "cmpxchg", IAdd "iadd", ISub "isub",
        SMin "smin", UMin "umin", SMax "smax", UMax "umax", And "and", Or "or", Xor "xor",
        FAdd "fadd", FMin "fmin", FMax "fmax",
    }
    Interp "interpolation" {
        Flat "flat",
        At { perspective: false, place: InterpPlace::Center } "at",
        Vertex(0) "vertex",
    }
    InterpPlace "place" {
        Center "center", Centroid "centroid", Sample "sample", AtOffset "at_offset", AtSample "at_sample",
    }
    BuiltIn "built-in" {
        VertexIndex "vertex_index",
        InstanceIndex "instance_index",
        BaseVertex "base_vertex",
        BaseInstance "base_instance",
        DrawIndex "draw_index",
        ViewIndex "view_index",
        DeviceIndex "device_index",
        FragCoord "frag_coord",
        FrontFacing "front_facing",
        PointCoord "point_coord",
        SampleId "sample_id",
        SamplePosition "sample_position",
        SampleMaskIn "sample_mask_in",
        HelperInvocation "helper_invocation",
        PrimitiveId "primitive_id",
        Layer "layer",
        ViewportIndex "viewport_index",
        ShadingRate "shading_rate",
        FullyCovered "fully_covered",
        FragInvocationCount "frag_invocation_count",
        ClipDistance "clip_distance",
        CullDistance "cull_distance",
        BaryCoord "bary_coord",
        BaryCoordNoPersp "bary_coord_no_persp",
        BaryCoordPullModel "bary_coord_pull_model",
        NumWorkgroups "num_workgroups",
        WorkgroupId "workgroup_id",
        LocalInvocationId "local_invocation_id",
        LocalInvocationIndex "local_invocation_index",
        SubgroupSize "subgroup_size",
        SubgroupLocalInvocationId "subgroup_local_invocation_id",
        SubgroupId "subgroup_id",
        NumSubgroups "num_subgroups",
        SubgroupEqMask "subgroup_eq_mask",
        SubgroupGeMask "subgroup_ge_mask",
        SubgroupGtMask "subgroup_gt_mask",
        SubgroupLeMask "subgroup_le_mask",
        SubgroupLtMask "subgroup_lt_mask",
    }
    OutputSlot "output" {
        Location { location: 0, component: 0, index: 0 } "location",
        Position(0) "position",
        PointSize "point_size",
        ClipDistance(0) "clip_distance",
        CullDistance(0) "cull_distance",
        Layer "layer",
        ViewportIndex "viewport_index",
        ShadingRate "shading_rate",
        FragDepth "frag_depth",
        FragStencilRef "frag_stencil_ref",
        SampleMask "sample_mask",
    }
    QuadSwap "direction" { Horizontal "horizontal", Vertical "vertical", Diagonal "diagonal", }
    ReduceOp "reduction" {
        IAdd "iadd", FAdd "fadd", IMul "imul", FMul "fmul", SMin "smin", UMin "umin", FMin "fmin",
        SMax "smax", UMax "umax", FMax "fmax", And "and", Or "or", Xor "xor",
    }
    Scope "scope" {
        Invocation "invocation", Subgroup "subgroup", Workgroup "workgroup", Device "device", System "system",
    }
    FenceOrder "order" { None "none", Acquire "acquire", Release "release", AcqRel "acq_rel", }
    ExportTarget "export target" {
        Mrt(0) "mrt", MrtZ "mrtz", Null "null", Pos(0) "pos", Param(0) "param",
    }
    Dim "dimension" {
        D1 "1d", D2 "2d", D3 "3d", Cube "cube", Rect "rect", Buffer "buffer", SubpassData "subpass",
    }
    ImageOp "image operation" {
        Sample "sample", Gather(0) "gather", Fetch "fetch", Load "load", Store "store",
        Atomic(AtomicOp::Load) "atomic", QuerySize "query_size", QueryLevels "query_levels",
        QuerySamples "query_samples", QueryLod "query_lod",
    }
    LodMode "level of detail" {
        Implicit "lod_implicit", Bias "lod_bias", Explicit "lod_explicit", Zero "lod_zero", Gradient "lod_gradient",
    }
    MimgDim "dimension" {
        D1 "1d", D2 "2d", D3 "3d", Cube "cube", D1Array "1darray", D2Array "2darray", D2Msaa "2dmsaa",
        D2ArrayMsaa "2darraymsaa",
    }
    MimgOp "image operation" {
        Sample "sample", Gather4 "gather4", GetLod "get_lod", Load "load", LoadMip "load_mip", Store "store",
        StoreMip "store_mip", Atomic(AtomicOp::Load) "atomic", GetResinfo "get_resinfo",
    }
}
