//! SPIR-V words to upper-level IR: parse, check, translate one entry point with every call inlined.
