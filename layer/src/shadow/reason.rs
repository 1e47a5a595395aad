//! Why a sampled dispatch or draw has no bundle. `docs/layer.md` has the table.

use std::borrow::Cow;

/// The name of a `VkDynamicState`, without the prefix.
fn name(number: u32) -> Cow<'static, str> {
    let [states, _] = dovetail_capture::names();
    states
        .into_iter()
        .find(|(one, _)| *one == number)
        .map_or_else(|| number.to_string().into(), |(_, name)| name.into())
}

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
            /// A dynamic state that is not followed, by its number.
            Dynamic(u32),
            /// A dynamic state that no command has set.
            Unset(u32),
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// The name under which it is counted.
            pub fn name(&self) -> Cow<'_, str> {
                match self {
                    Self::Unsupported(why) => format!("unsupported shader: {why}").into(),
                    Self::Secondary(why) => format!("secondary command buffer {why}").into(),
                    Self::Dynamic(number) => format!("dynamic state {}, which is not followed", name(*number)).into(),
                    Self::Unset(number) => format!("dynamic state {}, which is not set", name(*number)).into(),
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
    /// Swizzles of a comparison or of attachments, planes, slices of a volume, what extends it.
    View = "unsupported image view";
    /// Cubic filters, minima and maxima, conversions.
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
    /// Patches, adjacency.
    Topology = "unsupported topology";
    Restart = "primitive restart";
    Indices = "indices beyond their buffer";
    AlphaToCoverage = "alpha to coverage";
    SampleMask = "sample mask";
    SampleLocations = "sample locations";
    /// Points whose coordinate the shader reads, or a mode of an extension.
    PolygonMode = "polygon mode";
    /// The driver does not say that they are rectangles.
    WideLines = "wide lines";
    LineStipple = "stippled lines";
    SmoothLines = "smooth lines";
    Conservative = "conservative rasterization";
    /// The last one of each primitive is, and the shader reads its values.
    ProvokingVertex = "provoking vertex";
    /// Depths are neither clipped nor clamped, or both to a part of the range.
    DepthClip = "depth clipping";
    /// The vertex count is computed from a counter of transform feedback.
    ByteCount = "number of vertices in memory";
    DepthBias = "depth bias";
    DepthBounds = "depth bounds";
    /// One that is not among Vulkan's own.
    BlendOp = "unknown blend operation";
    Viewports = "several viewports";
    /// By structures that are not read.
    Extended = "extended rasterization state";
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
