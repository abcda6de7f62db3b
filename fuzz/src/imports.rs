//! Any source is read, its facts read back, its definitions are within it, and any stored facts and project files are
//! read or refused.

use proem_imports::{
    Dialect, Manifests, ParsedSource, SourceFacts, SourceLanguage, SourceLimits, Symbol, dialect_symbols,
    extract_facts, notebook_text, resolve::ResolvableFile, resolve_imports,
};

const NAMES: [&[u8]; 7] = [b"p/a.go", b"p/A.java", b"p/a.js", b"p/a.py", b"src/lib.rs", b"p/a.tsx", b"p/a.ts"];
const MANIFESTS: [&[u8]; 4] = [b"Cargo.toml", b"go.mod", b"p/package.json", b"tsconfig.json"];

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let Some((&choice, source)) = bytes.split_first() else { return };
    let _ = SourceFacts::from_bytes(source);
    let (manifest, source) = source.split_at(source.iter().position(|&byte| byte == 0).unwrap_or(0));
    let mut manifests = Manifests::default();
    let _ = manifests.add(MANIFESTS[usize::from(choice >> 4) % MANIFESTS.len()], manifest);
    let path = NAMES[usize::from(choice) % NAMES.len()];
    let language = SourceLanguage::of_path(path).unwrap();
    let facts = extract_facts(language, source, &SourceLimits::default(), &mut || false).unwrap();
    assert_eq!(SourceFacts::from_bytes(&facts.to_bytes()), Ok(facts.clone()));
    let other = path.strip_suffix(b".rs").map_or(&b"p/b.py"[..], |_| b"src/a.rs");
    let files = [ResolvableFile { path, facts: Some(&facts) }, ResolvableFile { path: other, facts: Some(&facts) }];
    let found = resolve_imports(&files, &manifests);
    assert_eq!(found.files.len(), 2);
    assert!(found.edges.iter().all(|edge| edge.from != edge.to && edge.from < 2 && edge.to < 2));
    let dialect = Dialect::ALL[usize::from(choice) % Dialect::ALL.len()];
    let lines = match (dialect, core::str::from_utf8(source)) {
        (Dialect::Notebook, Ok(text)) => notebook_text(text).map_or(0, |text| text.lines().count()),
        _ => source.split(|&byte| byte == b'\n').count(),
    };
    holds(&dialect_symbols(dialect, source, &SourceLimits::default(), &mut || false).unwrap(), lines);
    for language in [SourceLanguage::C, SourceLanguage::Cpp, language] {
        let parsed = ParsedSource::new(language, source, &SourceLimits::default(), &mut || false).unwrap();
        holds(&parsed.symbols(&mut || false).unwrap(), source.split(|&byte| byte == b'\n').count());
    }
}

/// Each definition is within the source.
fn holds(symbols: &[Symbol], lines: usize) {
    for symbol in symbols {
        let places = [1, symbol.first_line, symbol.own_line, symbol.last_line];
        assert!(places.is_sorted() && symbol.signature_line <= symbol.last_line, "{symbol:?}");
        assert!(!symbol.name.is_empty() && symbol.last_line as usize <= lines, "{symbol:?} of {lines}");
    }
}
