//! Prologs and epilogs: a key in, machine code out, no compiler.
