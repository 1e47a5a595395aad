//! Unlinked ELFs and a pipeline state to the final pipeline ELF.
