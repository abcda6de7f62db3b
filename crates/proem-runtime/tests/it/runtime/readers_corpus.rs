//! The fuzzer's inputs for readers, as ordinary tests.

use std::{fs, path::Path};

use proem_runtime::readers::{DocumentKind, DocumentLimits};

use crate::runtime::readers::check_reader_laws;

#[test]
fn the_corpus_is_read_within_bounds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/readers");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let (kind, bytes) = match bytes.split_first() {
            Some((b'm', rest)) => (Some(DocumentKind::Mail), rest),
            Some((b'h', rest)) => (Some(DocumentKind::Html), rest),
            Some((b'j', rest)) => (Some(DocumentKind::Json), rest),
            Some((b't', rest)) => (Some(DocumentKind::Text), rest),
            Some((_, rest)) => (None, rest),
            None => (None, &[][..]),
        };
        check_reader_laws(bytes, kind, DocumentLimits::default());
        check_reader_laws(bytes, kind, DocumentLimits { fields: 2, depth: 2, ..DocumentLimits::default() });
        seen += 1;
    }
    assert!(seen >= 15, "{seen} inputs");
}
