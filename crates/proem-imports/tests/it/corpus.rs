//! The inputs of the fuzz target `imports`, as ordinary tests: any source is read, its facts are read back,
//! and any stored facts and project files are read or refused.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]
#![expect(clippy::disallowed_methods, reason = "the corpus is a folder of files")]

use proem_imports::resolve::ResolvableFile;
use proem_imports::{Manifests, SourceFacts, SourceLanguage, SourceLimits, extract_facts, resolve_imports};

const NAMES: [&[u8]; 9] =
    [b"p/a.go", b"p/A.java", b"p/a.js", b"p/a.py", b"src/lib.rs", b"p/a.tsx", b"p/a.ts", b"p/a.c", b"p/a.cpp"];
const MANIFESTS: [&[u8]; 4] = [b"Cargo.toml", b"go.mod", b"p/package.json", b"tsconfig.json"];

#[test]
fn every_input_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/imports");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Some((&choice, source)) = bytes.split_first() else { continue };
        check(choice, source);
        read += 1;
    }
    assert!(read >= 7, "{read} inputs in {folder}");
}

fn check(choice: u8, source: &[u8]) {
    // A stored file may be anything. Refusing it is no finding.
    _ = SourceFacts::from_bytes(source);
    let (manifest, source) = source.split_at(source.iter().position(|&byte| byte == 0).unwrap_or(0));
    let mut manifests = Manifests::default();
    _ = manifests.add(MANIFESTS[usize::from(choice >> 4) % MANIFESTS.len()], manifest);
    let path = NAMES[usize::from(choice) % NAMES.len()];
    let facts =
        extract_facts(SourceLanguage::of_path(path).unwrap(), source, &SourceLimits::default(), &mut || false).unwrap();
    assert_eq!(SourceFacts::from_bytes(&facts.to_bytes()), Ok(facts.clone()));
    let other = path.strip_suffix(b".rs").map_or(&b"p/b.py"[..], |_| b"src/a.rs");
    let files = [ResolvableFile { path, facts: Some(&facts) }, ResolvableFile { path: other, facts: Some(&facts) }];
    let found = resolve_imports(&files, &manifests);
    assert_eq!(found.files.len(), 2);
    assert!(found.edges.iter().all(|edge| edge.from != edge.to && edge.from < 2 && edge.to < 2));
}
