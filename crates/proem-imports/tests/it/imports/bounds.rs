//! Strange, huge and damaged input.

use proem_imports::{
    ExtractError, FactsDecodeError, Manifests, SourceFacts, SourceLanguage, SourceLimits, extract_facts,
    resolve::manifest::BadManifest,
};
use proptest::prelude::*;

use crate::imports::read;

const SAMPLES: [(&str, &str); 7] = [
    ("a.cpp", "#include <a/b.h>\n#include \"c.h\"\nint x;\n"),
    ("a.py", "from .x import (a as b, c)\nimport d.e\nc.f()\n"),
    ("a.tsx", "import A, { type B } from './c';\nexport * as d from 'e';\nA.f(<B/>);\n"),
    ("a.rs", "pub use a::{b, c as d};\n#[cfg(test)]\nmod t;\nfn f() { b::g() }\n"),
    ("a.go", "package p\nimport q \"r/s\"\nfunc F() { q.G() }\n"),
    ("A.java", "package p.q;\nimport r.*;\nclass A { B b = new B(); }\n"),
    ("a.js", ""),
];

#[test]
fn facts_read_back_as_they_were_written() {
    for (path, source) in SAMPLES {
        let facts = read(path, source);
        assert_eq!(SourceFacts::from_bytes(&facts.to_bytes()), Ok(facts), "{path}");
    }
}

#[test]
fn damaged_facts_are_refused() {
    for (path, source) in SAMPLES {
        let bytes = read(path, source).to_bytes();
        for end in 0..bytes.len() {
            assert_eq!(SourceFacts::from_bytes(&bytes[..end]), Err(FactsDecodeError), "{path} cut at {end}");
        }
        assert_eq!(SourceFacts::from_bytes(&[&bytes[..], b"\0"].concat()), Err(FactsDecodeError));
        let mut other = bytes;
        other[0] = other[0].wrapping_add(1);
        assert_eq!(SourceFacts::from_bytes(&other), Err(FactsDecodeError));
    }
}

#[test]
fn what_is_too_large_or_too_slow_is_not_read() {
    let limits = SourceLimits { bytes: 10, ..SourceLimits::default() };
    let read = |source: &[u8], give_up: bool| extract_facts(SourceLanguage::Python, source, &limits, &mut || give_up);
    assert_eq!(read(b"import a\n\n\n", false), Err(ExtractError::TooLarge));
    assert_eq!(read(b"import a\n\n", false).map(|facts| facts.lines), Ok(1));
    let long = "x = 1\n".repeat(10_000);
    let all = extract_facts(SourceLanguage::Python, long.as_bytes(), &SourceLimits::default(), &mut || true);
    assert_eq!(all, Err(ExtractError::TimedOut));
    // Parsing may be done before the caller gives up. Walking looks as well.
    let mut asked = 0;
    let _ = extract_facts(SourceLanguage::Python, long.as_bytes(), &SourceLimits::default(), &mut || {
        asked += 1;
        false
    });
    let mut left = asked;
    let late = extract_facts(SourceLanguage::Python, long.as_bytes(), &SourceLimits::default(), &mut || {
        left -= 1;
        left == 0
    });
    assert_eq!(late, Err(ExtractError::TimedOut));
}

#[test]
#[expect(clippy::disallowed_types, reason = "a thread whose stack is small is what shows it")]
fn deep_nesting_neither_overflows_nor_hangs() {
    // A function that calls itself for each level needs more than 25 bytes of this stack for it.
    const DEEP: usize = 10_000;
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(|| read_deep(DEEP)).unwrap();
    thread.join().unwrap();
}

/// Reads sources of so many levels, in each language.
fn read_deep(levels: usize) {
    for (language, open, close) in [
        (SourceLanguage::Python, "(", ")"),
        (SourceLanguage::Python, "f(", ")"),
        (SourceLanguage::Python, "a.", "b"),
        (SourceLanguage::JavaScript, "[", "]"),
        (SourceLanguage::JavaScript, "{", "}"),
        (SourceLanguage::Tsx, "<a>", "</a>"),
        (SourceLanguage::TypeScript, "f(", ")"),
        (SourceLanguage::Rust, "use a::{", "}"),
        (SourceLanguage::Rust, "mod m {", "}"),
        (SourceLanguage::Rust, "fn f() { (", ") }"),
        (SourceLanguage::Go, "func(", ")"),
        (SourceLanguage::Java, "class A {", "}"),
        (SourceLanguage::Java, "((", "))"),
        (SourceLanguage::Cpp, "/*'\\", "\"R(*"),
        (SourceLanguage::C, "'\\", "\\'"),
        (SourceLanguage::C, "\\\"\\'", "\\\""),
    ] {
        let source = format!("{}{}", open.repeat(levels), close.repeat(levels));
        let limits = SourceLimits { bytes: source.len(), ..SourceLimits::default() };
        let facts = extract_facts(language, source.as_bytes(), &limits, &mut || false).unwrap();
        assert_eq!(facts.lines, 1, "{language} {open}");
        assert!(facts.to_bytes().len() < 64 * 1024 * 1024);
    }
}

#[test]
fn names_beyond_the_cap_are_left_out_and_said() {
    let long = "x".repeat(600);
    for (path, source) in [
        ("a.py", format!("import {long}\n")),
        ("a.js", format!("import '{long}';\n")),
        ("a.rs", format!("use a::{{{long}::b}};\n")),
        ("a.rs", format!("{}x{};\n", "use a::{".repeat(300), "}".repeat(300)).replacen("use ", "", 0)),
        ("a.go", format!("package p\nimport \"{long}\"\n")),
        ("A.java", format!("import {long}.B;\n")),
        ("a.c", format!("#include <{long}.h>\n")),
        ("a.c", format!("#include {long}\n")),
    ] {
        let facts = read(path, &source);
        assert!(facts.errors, "{path}");
        assert_eq!(facts.imports, [], "{path}");
    }
}

#[test]
fn bytes_that_are_no_text_are_read_around() {
    let source = b"import a\nx = '\xff\xfe'\nimport b\xff\nimport c\n\0\n";
    let facts = extract_facts(SourceLanguage::Python, source, &SourceLimits::default(), &mut || false).unwrap();
    let paths: Vec<&str> = facts.imports.iter().map(|import| import.path.as_str()).collect();
    assert!(paths.contains(&"a") && paths.contains(&"c") && facts.errors, "{facts:#?}");
    let marked =
        extract_facts(SourceLanguage::Python, b"\xef\xbb\xbfimport a\n", &SourceLimits::default(), &mut || false)
            .unwrap();
    assert_eq!((marked.imports.len(), marked.errors), (1, false));
    for language in SourceLanguage::ALL {
        let empty = extract_facts(language, b"", &SourceLimits::default(), &mut || false).unwrap();
        assert_eq!((empty.lines, empty.imports.len(), empty.errors), (0, 0, false), "{language}");
    }
}

#[test]
fn damaged_project_files_are_said_to_be() {
    for (path, bytes) in [
        ("Cargo.toml", &b"[package"[..]),
        ("go.mod", b"go 1.22\n"),
        ("a/package.json", b"[]"),
        ("tsconfig.json", b"{,"),
        ("package.json", b"\xff"),
    ] {
        assert_eq!(Manifests::default().add(path.as_bytes(), bytes), Err(BadManifest), "{path}");
    }
    assert!(!Manifests::wanted(b"node_modules/x/package.json") && !Manifests::wanted(b"a/cargo.toml"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_read_and_read_back(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for language in SourceLanguage::ALL {
            let facts = extract_facts(language, &bytes, &SourceLimits::default(), &mut || false).unwrap();
            prop_assert_eq!(SourceFacts::from_bytes(&facts.to_bytes()), Ok(facts));
        }
        let _ = SourceFacts::from_bytes(&bytes);
    }

    #[test]
    fn pieces_of_sources_are_read(pieces in prop::collection::vec(0_usize..32, 0..60)) {
        const PIECES: [&str; 32] = [
            "#include", " \"a.h\"", "<b.h>", "R\"x(", ")x\"", "/*", "*/", "\\\n",
            "import ", "from ", "use ", "a::b", "a.b", "{", "}", "(", ")", "'./x'", "\"y\"", ";\n", " as ", "*",
            "mod m", "#[cfg(test)]", "export ", "type ", "class C", "package p;", "super::", "\n    ", "require", "self",
        ];
        let source: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        for language in SourceLanguage::ALL {
            let facts = extract_facts(language, source.as_bytes(), &SourceLimits::default(), &mut || false).unwrap();
            prop_assert_eq!(SourceFacts::from_bytes(&facts.to_bytes()), Ok(facts));
        }
    }
}
