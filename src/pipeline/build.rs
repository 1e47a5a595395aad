//! The digest of the sources that decide a piece of glue, for its keys.

fn main() -> std::io::Result<()> {
    dovetail_build::set("DOVETAIL_GLUE_SOURCES", &dovetail_build::sources::GLUE)
}
