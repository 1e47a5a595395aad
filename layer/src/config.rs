//! The layer's configuration, from environment variables.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the names of all settings start with.
const PREFIX: &str = "DOVETAIL_LAYER_";
/// The folder of a cache in which its entries are.
const STORE: &str = "lmdb";

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

    fn new(settings: &mut Settings<'_>) -> Option<Self> {
        let bytes = settings.number("SHADOW_MIB").unwrap_or(Self::MIB).saturating_mul(1 << 20);
        let per_pipeline = settings.number("SHADOW_EACH").unwrap_or(Self::PER_PIPELINE);
        let most = settings.number("SHADOW_MOST").unwrap_or(Self::MOST);
        let folder = settings.path("SHADOW")?;
        Some(Self { folder, per_pipeline, most, bytes, single_bytes: bytes / Self::SHARE })
    }
}

/// The variables that have not been read yet, by their names after the prefix.
struct Settings<'a> {
    left: BTreeMap<String, OsString>,
    problems: &'a mut Vec<String>,
}

impl<'a> Settings<'a> {
    fn new(variables: impl Iterator<Item = (OsString, OsString)>, problems: &'a mut Vec<String>) -> Self {
        let ours = |(name, value): (OsString, OsString)| {
            let name = name.to_str()?.strip_prefix(PREFIX)?.to_owned();
            (!value.is_empty()).then_some((name, value))
        };
        Self { left: variables.filter_map(ours).collect(), problems }
    }

    fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.left.remove(name).map(PathBuf::from)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.left.remove(name)?;
        let ignored =
            |value: OsString| self.problems.push(format!("{PREFIX}{name}={value:?} is ignored: it is not UTF-8"));
        value.into_string().map_err(ignored).ok()
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        let ignored = |_| self.problems.push(format!("{PREFIX}{name}={text} is ignored: it is not a whole number"));
        text.parse().map_err(ignored).ok()
    }

    fn finish(self) {
        let unknown = self.left.keys().map(|name| format!("{PREFIX}{name} is ignored: no setting has this name"));
        self.problems.extend(unknown);
    }
}

impl Config {
    /// Reads the environment. An empty variable counts as unset. An application must not fail because of a setting, so
    /// one that is unknown or cannot be used is ignored, and `problems` says so.
    pub fn from_environment(problems: &mut Vec<String>) -> Self {
        let mut settings = Settings::new(env::vars_os(), problems);
        let wait = settings.number("WAIT").unwrap_or(0);
        let config = Self {
            dir: settings.path("DIR"),
            times: settings.path("TIMES"),
            json: settings.path("JSON"),
            cache: settings.path("CACHE"),
            socket: settings.path("SOCKET"),
            target: settings.text("TARGET"),
            // A day is as good as forever, and can be added to a time.
            wait: Duration::from_secs(wait.min(86_400)),
            shadow: ShadowConfig::new(&mut settings),
        };
        settings.finish();
        config.check_cache(problems);
        config
    }

    /// Reports a cache that nothing can come from.
    fn check_cache(&self, problems: &mut Vec<String>) {
        let Some(cache) = &self.cache else { return };
        let why = match () {
            () if !self.makes() => "is ignored: neither DOVETAIL_LAYER_TIMES nor DOVETAIL_LAYER_JSON is set",
            // A service may be about to fill it.
            () if self.socket.is_some() => return,
            () if !cache.is_dir() => "is no folder; everything counts as not cached",
            () if !cache.join(STORE).exists() => "has no cache in it; everything counts as not cached",
            () => return,
        };
        problems.push(format!("DOVETAIL_LAYER_CACHE={} {why}", cache.display()));
    }

    /// Whether pipelines are also made with Dovetail.
    pub fn makes(&self) -> bool {
        self.times.is_some() || self.json.is_some()
    }
}
