//! Extracts instruction words from RADV's disassembly: hexadecimal after the `;` of each line.

/// The words of a listing, up to the padding after the program.
pub fn words(listing: &str) -> Vec<u32> {
    let mut out = Vec::new();
    for line in listing.lines() {
        let Some((text, encoded)) = line.split_once(';') else { continue };
        if text.contains("s_code_end") {
            break;
        }
        let parsed = encoded.split_whitespace().map_while(|word| {
            let whole = word.len() == 8;
            whole.then(|| u32::from_str_radix(word, 16).ok()).flatten()
        });
        out.extend(parsed);
    }
    out
}
