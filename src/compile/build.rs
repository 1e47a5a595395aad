//! The digest of the sources that decide the form of a request, for its keys.

fn main() -> std::io::Result<()> {
    dovetail_build::set("DOVETAIL_REQUEST_SOURCES", &dovetail_build::sources::REQUEST)
}
