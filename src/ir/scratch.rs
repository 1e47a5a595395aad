//! Buffers that one rewrite of a shader leaves for the next.

use super::ids::{InstId, Value};
use super::pool::ConstPool;

/// Buffers kept for their capacity only; every user clears them first.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) insts: Vec<InstId>,
    pub(super) names: Vec<Option<Value>>,
    pub(super) consts: ConstPool,
}

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}
