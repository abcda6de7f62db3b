//! Writes the tables that `proem-tokens` ships.

use std::path::Path;

use regex_syntax::hir::{Class, HirKind};

/// The vocabularies, and the kinds of characters as the peer's regular expressions tell them apart.
pub fn write() -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/proem-tokens/data");
    for (name, peer) in [("o200k", bpe_openai::o200k_base()), ("cl100k", bpe_openai::cl100k_base())] {
        let ranks = 0..u32::try_from(peer.bpe.num_tokens()).expect("fewer than 2^32 tokens");
        let tokens: Vec<&[u8]> = ranks.map(|rank| peer.bpe.token_bytes(rank)).collect();
        let file = proem_tokens::pack(&tokens).expect("a vocabulary that has been published");
        write_file(&folder, name, &file);
    }
    write_file(&folder, "characters", &characters());
    true
}

fn write_file(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(format!("{name}.bin")), bytes).expect("the table can be written");
    println!("{name}.bin: {} bytes", bytes.len());
}

/// The numbers are those of `Class` in `proem-tokens`. Later lines take characters from earlier ones.
const CLASSES: [(&str, u8); 7] = [
    (r"[\p{Lu}\p{Lt}]", 1),
    (r"\p{Ll}", 2),
    (r"[\p{Lm}\p{Lo}]", 4),
    (r"\p{M}", 8),
    (r"\p{N}", 16),
    (r"\s", 32),
    (r"[\r\n]", 64),
];
const OTHER: u8 = 128;

/// An index of blocks of 64 characters, and the blocks.
fn characters() -> Vec<u8> {
    let mut classes = vec![OTHER; 0x11_0000];
    for (pattern, class) in CLASSES {
        let parsed = regex_syntax::parse(pattern).expect("a pattern that is valid");
        let HirKind::Class(Class::Unicode(set)) = parsed.kind() else { unreachable!("a set of characters") };
        for range in set.iter() {
            classes[range.start() as usize..=range.end() as usize].fill(class);
        }
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut file = Vec::new();
    for block in classes.chunks(64) {
        let known = blocks.iter().position(|known| *known == block);
        let number = known.unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        file.extend(u16::try_from(number).expect("fewer blocks than that").to_le_bytes());
    }
    file.extend(blocks.concat());
    file
}
