//! Contents that git has, from the work tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use proem_text::hex;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::files::{FileContent, read_beneath};

/// The content of the object with this id from the file at `path` below `root`, if that is what is there: byte by byte,
/// by the object's own hash. No filter or line ending of a checkout comes between, and git needs not be asked.
pub(super) fn from_disk(root: &Path, path: &[u8], id: &str, cap: usize) -> Option<Vec<u8>> {
    match read_beneath(root, Path::new(OsStr::from_bytes(path)), cap) {
        Ok(Some(FileContent::Whole(bytes))) if is_blob_id_of(id, &bytes) => Some(bytes),
        // In any other case, git has the content.
        _ => None,
    }
}

/// Whether a blob of this content has this id (git's "Git Objects": `blob`, a space, the length, a zero byte and the
/// content are hashed, by SHA-1 or SHA-256 as the id is long).
fn is_blob_id_of(id: &str, content: &[u8]) -> bool {
    let head = format!("blob {}\0", content.len());
    match id.len() {
        40 => blob_hash::<Sha1>(&head, content) == id,
        64 => blob_hash::<Sha256>(&head, content) == id,
        _ => false,
    }
}

fn blob_hash<D: Digest>(head: &str, content: &[u8]) -> String {
    hex::encode_hex(D::new().chain_update(head).chain_update(content).finalize().as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_known_by_its_id() {
        // `printf 'hello\n' | git hash-object --stdin`, and the same in a repository of SHA-256.
        let short = "ce013625030ba8dba906f756967f9e9ca394464a";
        let long = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        for id in [short, long] {
            assert!(is_blob_id_of(id, b"hello\n"), "{id}");
            assert!(!is_blob_id_of(id, b"hello\r\n"), "{id}");
        }
        assert!(!is_blob_id_of("ce01", b"hello\n"));
    }
}
