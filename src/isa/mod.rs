//! AMDGPU encodings shared by glue, emulator and checks.
