//! The requests to RADV for a shader.

pub use crate::support::radv::{Keeps, Radv};

use crate::shaders::Shader;
use crate::support::radv::layout;
use dovetail::target::WaveSize;
use serde_json::{Value, json};

/// The program's request for a shader, whose module is in `file`.
pub fn request(shader: &Shader, file: &std::path::Path) -> Result<Value, String> {
    let early = &shader.early;
    let code = json!({ "spirv": file, "entry": early.entry_point, "specialization": shader.specialization });
    Ok(json!({ "Stage": {
        "code": code, "stage": early.stage.to_string(), "wave": if early.wave == WaveSize::W64 { 64 } else { 32 },
        "layout": layout(&shader.layout)?, "listing": false,
    } }))
}
