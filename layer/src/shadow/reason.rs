//! Why a sampled dispatch or draw has no bundle. `docs/layer.md` has the table.

use std::borrow::Cow;

/// Declares [`Reason`] from variants and the names under which they are counted.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// A reason.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Reason {
            /// The front end does not know the shader, or the state; with what it says.
            Unsupported(String),
            /// The draws cannot be recorded again in the primary command buffer.
            Secondary(String),
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// The name under which it is counted.
            pub fn name(&self) -> Cow<'_, str> {
                match self {
                    Self::Unsupported(why) => format!("unsupported shader: {why}").into(),
                    Self::Secondary(why) => format!("secondary command buffer {why}").into(),
                    $(Self::$variant => $name.into(),)*
                }
            }
        }
    };
}

reasons! {
    /// A shader object, or a pipeline that was made before this layer looked.
    Pipeline = "unknown pipeline";
    /// `PhysicalStorageBufferAddresses`: where the pointers lead is not known.
    Addresses = "buffer device addresses";
    /// Its results may depend on the size of a subgroup, which is not that of a wave.
    Subgroups = "subgroups of another size";
    Commands = "unknown command buffer";
    Conditional = "conditional rendering";
    Protected = "protected memory";
    Base = "workgroups that do not begin at 0";
    /// None is bound, or it comes from a descriptor buffer.
    Set = "unknown descriptor set";
    /// Its descriptors may change after they were recorded.
    UpdateAfterBind = "update after bind";
    Descriptor = "descriptor that was not written";
    Null = "null descriptor";
    /// Inline uniform blocks, acceleration structures and others.
    DescriptorType = "unsupported descriptor type";
    /// More descriptors than are followed.
    Array = "long descriptor array";
    /// The object was created before the layer could see it, or is destroyed.
    Object = "unknown buffer, image or view";
    /// Transfer usage could not be added.
    Usage = "not a transfer source";
    Sparse = "sparse memory";
    /// Another queue may read it while its layout changes for the copy.
    Shared = "image shared by queues";
    Layouts = "image in two layouts";
    Format = "unsupported format";
    Samples = "multisampled image";
    /// Swizzles, planes, slices of a volume, what extends it.
    View = "unsupported image view";
    /// Anisotropy, reduction modes, conversions, other borders.
    Sampler = "unsupported sampler";
    /// It began before the layer was watching.
    Outside = "unknown render pass";
    /// The pass is suspended, resumed or extended.
    Pass = "render pass that cannot be interrupted";
    Subpasses = "several subpasses";
    /// A query or a counter must end in the pass in which it began.
    Query = "query in the render pass";
    Feedback = "transform feedback";
    Multiview = "multiview";
    Layered = "layered attachments";
    NoAttachments = "no attachments";
    Sizes = "attachments of several sizes";
    Imageless = "imageless framebuffer";
    Calls = "several draws in one call";
    DrawCount = "number of draws in memory";
    /// A dynamic state that is not supported, or was not set.
    Dynamic = "unknown dynamic state";
    /// Patches, adjacency.
    Topology = "unsupported topology";
    Restart = "primitive restart";
    Indices = "indices beyond their buffer";
    AlphaToCoverage = "alpha to coverage";
    SampleMask = "sample mask";
    PolygonMode = "polygon mode";
    WideLines = "wide lines";
    DepthBias = "depth bias";
    DepthBounds = "depth bounds";
    LogicOp = "logic operation";
    Viewports = "several viewports";
    /// Structures that extend the state.
    Rasterization = "extended rasterization state";
    /// Two bindings share memory that the dispatch changed, but a bundle holds each separately.
    Aliased = "resources that share memory";
    Bytes = "over the limit of bytes";
    Memory = "no memory for the copies";
    NotSubmitted = "not submitted";
    /// The copies of the first run were overwritten before they were read.
    Resubmitted = "submitted again before it was read";
    /// The application ended, or the device was lost.
    Unfinished = "not finished";
    File = "bundle not written";
}
