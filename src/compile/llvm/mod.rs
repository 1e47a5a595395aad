//! Lower-level IR to an AMDGPU object through LLVM 19.
