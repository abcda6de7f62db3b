//! Writes the counts that the tests of `proem-tokens` expect, by the peer alone.

use std::path::Path;

use crate::corpus::{fingerprint, texts};

/// Writes one line for each text of the corpus.
pub fn write() -> bool {
    let mut lines = String::new();
    for text in texts() {
        let o200k = bpe_openai::o200k_base().encode(text.text.as_str());
        let cl100k = bpe_openai::cl100k_base().encode(text.text.as_str());
        lines.push_str(&format!(
            "{}\t{}\t{}\t{}\t{}\t{:016x}\n",
            text.kind,
            text.index,
            text.text.len(),
            o200k.len(),
            cl100k.len(),
            fingerprint(&o200k, &cl100k),
        ));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/proem-tokens/tests/it/corpus/counts.tsv");
    std::fs::write(path, &lines).expect("the counts can be written");
    println!("{} texts", lines.lines().count());
    true
}
