//! The layer's configuration, from environment variables.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// The settings, read once.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// `DOVETAIL_LAYER_DIR`: folder to record into.
    pub dir: Option<PathBuf>,
    /// `DOVETAIL_LAYER_TIMES`: file for the table of times (`-`: standard error); also makes each pipeline with
    /// Dovetail.
    pub times: Option<PathBuf>,
    /// `DOVETAIL_LAYER_JSON`: file for the same data as JSON.
    pub json: Option<PathBuf>,
    /// `DOVETAIL_LAYER_CACHE`: the cache to link from.
    pub cache: Option<PathBuf>,
    /// `DOVETAIL_LAYER_SOCKET`: socket of a service that compiles what is missing.
    pub socket: Option<PathBuf>,
    /// `DOVETAIL_LAYER_TARGET`: the GPU to link for.
    pub target: Option<String>,
    /// `DOVETAIL_LAYER_WAIT`: seconds that the report waits for unanswered requests to the service.
    pub wait: Duration,
    pub shadow: Option<ShadowConfig>,
}

/// Settings of the shadow.
#[derive(Clone, Debug)]
pub struct ShadowConfig {
    /// `DOVETAIL_LAYER_SHADOW`: folder for bundles.
    pub folder: PathBuf,
    /// `DOVETAIL_LAYER_SHADOW_EACH`: largest number of dispatches or draws of one pipeline.
    pub per_pipeline: u64,
    /// `DOVETAIL_LAYER_SHADOW_MOST`: largest number of dispatches and draws in total.
    pub most: u64,
    /// `DOVETAIL_LAYER_SHADOW_MIB`: largest total size of copies; here in bytes.
    pub bytes: u64,
    /// Largest size in bytes of the copies for one dispatch or draw.
    pub single_bytes: u64,
}

impl ShadowConfig {
    const PER_PIPELINE: u64 = 4;
    const MOST: u64 = 256;
    const MIB: u64 = 512;
    /// One dispatch or draw may use one `SHARE`th of all bytes.
    const SHARE: u64 = 8;
}

impl Config {
    /// Reads the environment. An empty variable counts as unset.
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
            // A day is as good as forever, and can be added to a time.
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

    /// Whether pipelines are also made with Dovetail.
    pub fn makes(&self) -> bool {
        self.times.is_some() || self.json.is_some()
    }
}
