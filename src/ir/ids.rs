//! Typed indices into a shader's lists.

macro_rules! id {
    ($name:ident, $doc:literal, $prefix:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// Position in its arena.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(Value, "A value: an instruction's result or a block parameter.", "v");
id!(InstId, "An instruction.", "i");
id!(BlockId, "A basic block.", "block");
id!(LocalId, "A local (scratch) variable.", "local");
id!(ConstTableId, "A table of constant bytes.", "table");
id!(ResourceId, "A resource binding.", "res");
id!(SymbolId, "A link-time symbol.", "sym");

impl BlockId {
    /// The entry block.
    pub const ENTRY: Self = Self(0);
}
