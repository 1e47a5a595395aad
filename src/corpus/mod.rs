//! Inputs: SPIR-V files, directories, and the containers that shaders are shipped in.
