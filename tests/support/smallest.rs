//! The smallest possible shaders, one for each entry point name.

use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{AddressingModel, Capability, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel};

/// The smallest compute shader with this entry point.
pub fn shader(entry: &str) -> Vec<u8> {
    let mut b = dr::Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let ty = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, ty).unwrap();
    b.begin_block(None).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, entry, []);
    b.execution_mode(main, ExecutionMode::LocalSize, [64, 1, 1]);
    b.module().assemble().iter().flat_map(|w| w.to_le_bytes()).collect()
}
