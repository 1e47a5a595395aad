//! The layer's configuration, from environment variables.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// The settings, read once.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// `DOVETAIL_LAYER_DIR`: record into this folder.
    pub dir: Option<PathBuf>,
    /// `DOVETAIL_LAYER_TIMES`: make pipelines beside the driver's, and write the table here; `-` is standard error.
    pub times: Option<PathBuf>,
    /// `DOVETAIL_LAYER_JSON`: the same as JSON.
    pub json: Option<PathBuf>,
    /// `DOVETAIL_LAYER_CACHE`: the cache to link from.
    pub cache: Option<PathBuf>,
    /// `DOVETAIL_LAYER_SOCKET`: a service to ask for what is missing.
    pub socket: Option<PathBuf>,
    /// `DOVETAIL_LAYER_TARGET`: the GPU to link for.
    pub target: Option<String>,
    /// `DOVETAIL_LAYER_WAIT`: seconds that the report waits for what the service still has.
    pub wait: Duration,
    pub shadow: Option<ShadowConfig>,
}

/// Settings of the shadow.
#[derive(Clone, Debug)]
pub struct ShadowConfig {
    /// `DOVETAIL_LAYER_SHADOW`: write bundles into this folder.
    pub folder: PathBuf,
    /// `DOVETAIL_LAYER_SHADOW_EACH`: at most so many dispatches or draws of a pipeline.
    pub per_pipeline: u64,
    /// `DOVETAIL_LAYER_SHADOW_MOST`: at most so many dispatches and draws.
    pub most: u64,
    /// `DOVETAIL_LAYER_SHADOW_MIB`: at most so many bytes of copies.
    pub bytes: u64,
    /// At most so many of one dispatch or draw.
    pub single_bytes: u64,
}

impl ShadowConfig {
    const PER_PIPELINE: u64 = 4;
    const MOST: u64 = 256;
    const MIB: u64 = 512;
    /// The part of all bytes that one dispatch or draw may have.
    const SHARE: u64 = 8;
}

impl Config {
    /// From the environment. What is empty is not set.
    pub fn from_environment() -> Self {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let number = |name: &str| text(name).and_then(|number| number.parse::<u64>().ok());
        let wait = number("DOVETAIL_LAYER_WAIT").unwrap_or(0);
        Self {
            dir: path("DOVETAIL_LAYER_DIR"),
            times: path("DOVETAIL_LAYER_TIMES"),
            json: path("DOVETAIL_LAYER_JSON"),
            cache: path("DOVETAIL_LAYER_CACHE"),
            socket: path("DOVETAIL_LAYER_SOCKET"),
            target: text("DOVETAIL_LAYER_TARGET"),
            // A day is as long as for ever, and can be added to a time.
            wait: Duration::from_secs(wait.min(86_400)),
            shadow: path("DOVETAIL_LAYER_SHADOW").map(|folder| {
                let bytes = number("DOVETAIL_LAYER_SHADOW_MIB").unwrap_or(ShadowConfig::MIB).saturating_mul(1 << 20);
                ShadowConfig {
                    folder,
                    per_pipeline: number("DOVETAIL_LAYER_SHADOW_EACH").unwrap_or(ShadowConfig::PER_PIPELINE),
                    most: number("DOVETAIL_LAYER_SHADOW_MOST").unwrap_or(ShadowConfig::MOST),
                    bytes,
                    single_bytes: bytes / ShadowConfig::SHARE,
                }
            }),
        }
    }

    /// Whether pipelines are made beside the driver's.
    pub fn makes(&self) -> bool {
        self.times.is_some() || self.json.is_some()
    }
}
