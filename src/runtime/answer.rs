//! Results of requests: what is available, and how it was built.

use dovetail_base::error::FullCompile;
use dovetail_base::target::Stage;

/// How a pipeline was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineRoute {
    /// Linked from parts that were compiled without state.
    Linked,
    /// Compiled as a whole, by the program that filled the cache or by a service; the reason, if linking was tried.
    Whole(Option<FullCompile>),
    /// Linked first, then replaced by a whole-pipeline compile of the service; the text says why that is better.
    Optimized(String),
}

/// Result of a request for something that may not be available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// Available.
    Ready(T),
    /// The part of this stage is not in memory and the disk was not checked, or it was requested from a service.
    Pending(Stage),
    /// The part of this stage is not in the cache.
    NotCached(Stage),
}
