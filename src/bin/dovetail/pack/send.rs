//! `pack diff`, `apply`, `verify`, `key` and `sign`.

use super::about::{About, OutArgs, TrustArgs, root, written};
use crate::common::{Output, print_json, read_text};
use crate::progress::Progress;
use dovetail::error::{Context, Error, Result};
use dovetail::files;
use dovetail::pack::{Pack, PackChecks, Root};
use dovetail::ship::delta::{self, PackDifference};
use dovetail::ship::trust::signature_path;
use dovetail::ship::{sign as signing, transport};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write what turns one pack into another: the new payloads, and which keys come and go.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack diff game-2.pack game-3.pack -o game-2-3.dvd")]
pub struct DiffArgs {
    /// The older pack.
    old: PathBuf,
    /// The newer pack.
    new: PathBuf,
    /// Output file.
    #[arg(long, short, value_name = "FILE")]
    out: Output,
    /// Level of compression, 1 to 22.
    #[arg(long, default_value_t = transport::LEVEL, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=22))]
    level: i32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Make the newer pack from the older one and their difference: the same file, bit for bit, so its signature is valid too.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack apply game-2.pack game-2-3.dvd -o game-3.pack")]
pub struct ApplyArgs {
    /// The older pack.
    old: PathBuf,
    /// The difference.
    delta: PathBuf,
    #[command(flatten)]
    out: OutArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Check every byte of a pack, and its signature if there is one.
///
/// Exits with 1 and names what is damaged; with 2 if the signature is not of this pack; with 5 if its key is not trusted.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  dovetail pack verify game.pack --trust farm.pub\n  dovetail pack verify mine.pack --root 3f21…"
)]
pub struct VerifyArgs {
    /// The pack.
    pack: PathBuf,
    /// Only read its directory: a lookup checks the rest.
    #[arg(long)]
    quick: bool,
    /// The root that it must have, as another builder's `pack list` prints it.
    #[arg(long, value_name = "ROOT", value_parser = root)]
    root: Option<Root>,
    /// Its signature; by default beside it, with `.minisig` at the end of its name.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Refuse a pack without a signature.
    #[arg(long)]
    signed: bool,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Make a key to sign packs with: NAME.key, which stays secret and has no password, and NAME.pub for others. Keys of minisign, with a
/// password or not, serve as well.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack key farm")]
pub struct KeyArgs {
    /// Path without the endings.
    name: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Sign a pack, in minisign's format: `minisign -V -m game.pack -p farm.pub` checks it too.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail pack sign game.pack --key farm.key")]
pub struct SignArgs {
    /// The pack, or a list of withdrawn packs (NAME.withdrawn.toml, see docs/cache-format.md).
    file: PathBuf,
    /// Secret key of minisign.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// File with the key's password; by default it is asked for if there is one.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// A line that is signed too; by default the pack's name, version and root.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Output file; by default the pack's name with `.minisig` at its end.
    #[arg(long, short, value_name = "FILE")]
    out: Option<Output>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn diff(args: &DiffArgs) -> Result<ExitCode> {
    let (old, new) = (transport::open(&args.old)?, transport::open(&args.new)?);
    let progress = Progress::new(new.head().payloads as usize, "comparing");
    let difference = written(&args.out, |path| delta::diff(&old, &new, path, args.level, &mut || progress.tick()))?;
    progress.finish();
    if args.json {
        print_json(&difference)?;
    } else {
        let PackDifference { kept, dropped, added, payload_bytes } = difference;
        println!("{kept} keys stay, {dropped} go, {added} come, with {payload_bytes} bytes of new payloads");
    }
    Ok(ExitCode::SUCCESS)
}

pub fn apply(args: &ApplyArgs) -> Result<ExitCode> {
    let old = transport::open(&args.old)?;
    let progress = Progress::new(old.head().keys as usize, "keys");
    let about = args.out.write(|path| {
        delta::apply(&old, &args.delta, path, &mut || progress.tick())?;
        Ok(About::of(&Pack::open(path)?))
    })?;
    progress.finish();
    about.print(args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The result of `verify`.
#[derive(serde::Serialize)]
struct Verified {
    #[serde(flatten)]
    about: About,
    checks: Option<PackChecks>,
    /// The key that signed it.
    signer: Option<String>,
    comment: Option<String>,
}

pub fn verify(args: &VerifyArgs) -> Result<ExitCode> {
    let pack = transport::open(&args.pack)?;
    let place = || args.pack.display().to_string();
    if let Some(wanted) = args.root.filter(|wanted| *wanted != pack.root()) {
        return Err(Error::malformed(format!("its root is {}, not {wanted}", pack.root())).at(place()));
    }
    let checks = (!args.quick).then(|| {
        let progress = Progress::new(pack.pages(), "pages");
        let checks = pack.check(|| progress.tick());
        progress.finish();
        checks
    });
    let beside = [signature_path(&args.pack), signature_path(&args.pack.with_extension(""))];
    let signature = args.signature.clone().or_else(|| beside.into_iter().find(|path| path.exists()));
    let signed = match signature {
        Some(signature) => {
            let megabytes = pack.head().file_bytes() as usize / transport::STEP;
            let progress = Progress::new(megabytes, "checking the signature, MiB");
            let trust = args.trust.read()?;
            let signed = trust.check(pack.path(), &signature, &mut || progress.tick())?;
            progress.finish();
            let signer = signed.by.to_string();
            if let Some(why) = trust.withdrawn(pack.root(), Some(&signer)) {
                return Err(Error::environment(why).at(place()));
            }
            Some(signed)
        }
        None if args.signed => return Err(Error::environment("it is not signed").at(place())),
        None => None,
    };
    let (signer, comment) = signed.map(|signed| (signed.by.to_string(), signed.comment)).unzip();
    let damaged = checks.as_ref().is_some_and(|checks| !checks.damage.is_empty());
    let verified = Verified { about: About::of(&pack), checks, signer, comment };
    if args.json {
        print_json(&verified)?;
    } else {
        println!("{}", verified.about.lines());
        for line in verified.checks.iter().flat_map(|checks| &checks.damage) {
            println!("  damaged: {line}");
        }
        match (&verified.signer, &verified.comment) {
            (Some(signer), Some(comment)) => println!("  signed by {signer}: {comment}"),
            _ => println!("  not signed"),
        }
    }
    Ok(ExitCode::from(u8::from(damaged)))
}

pub fn key(args: &KeyArgs) -> Result<ExitCode> {
    let name = args.name.file_name().ok_or_else(|| Error::malformed("no name for a key"))?.to_string_lossy();
    let with = |ending: &str| args.name.with_file_name(format!("{name}.{ending}"));
    let (secret, public) = (with("key"), with("pub"));
    signing::new_key(&secret, &public, &format!("dovetail packs of {name}"))?;
    if args.json {
        print_json(&serde_json::json!({ "secret": secret, "public": public }))?;
    } else {
        println!("{} signs packs and has no password: keep it secret", secret.display());
        println!("{} is for those who are to accept them: in ~/.config/dovetail/trust", public.display());
    }
    Ok(ExitCode::SUCCESS)
}

pub fn sign(args: &SignArgs) -> Result<ExitCode> {
    let password = args.password_file.as_deref().map(read_text).transpose()?;
    let password = password.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    let key = signing::secret_key(&args.key, password)?;
    let is_list = args.file.to_string_lossy().ends_with(".withdrawn.toml");
    let (signature, comment) = if is_list {
        let comment = args.comment.clone().unwrap_or_else(|| "withdrawn dovetail packs".to_owned());
        (signing::sign(&key, &*files::read(&args.file, files::MAX_TEXT)?, &comment)?, comment)
    } else {
        let pack = transport::open(&args.file)?;
        let (meta, root) = (pack.meta(), pack.root());
        let comment = format!("dovetail pack {} {} root {root}", meta.name, meta.version);
        let comment = args.comment.clone().unwrap_or(comment);
        let (bytes, _) = files::open(pack.path())?;
        (signing::sign(&key, bytes, &comment).at(|| args.file.display().to_string())?, comment)
    };
    let out = args.out.clone().unwrap_or_else(|| signature_path(&raw_name(&args.file)).into_os_string().into());
    out.claim();
    out.write(signature.as_bytes())?;
    if args.json {
        print_json(&serde_json::json!({ "signature": out.to_string(), "comment": comment }))?;
    } else {
        println!("{out}: {comment}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a pack without that of its compression: the signature is that of the pack.
fn raw_name(path: &Path) -> PathBuf {
    if transport::has_compressed_name(path) { path.with_extension("") } else { path.to_owned() }
}
