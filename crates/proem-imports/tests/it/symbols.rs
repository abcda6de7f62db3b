//! The definitions of sources, in every language: kind, name, and the lines of documentation, signature and body.

use proem_imports::{ParsedSource, SourceLanguage, SourceLimits, Symbol, find_symbols};

/// The definitions of the file at a path.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
pub(crate) fn symbols_at(path: &str, source: &str) -> Vec<Symbol> {
    find_symbols(path.as_bytes(), source.as_bytes(), &SourceLimits::default(), &mut || false).unwrap()
}

/// Compares kind, name and the lines of documentation, name, signature and end of each definition.
#[track_caller]
pub(crate) fn check(path: &str, source: &str, expected: &[&str]) {
    let said: Vec<String> = symbols_at(path, source)
        .iter()
        .map(|s| {
            let lines =
                [s.first_line, s.own_line, s.signature_line, s.last_line].map(|line| line.to_string()).join(" ");
            format!("{}{:?} {} {lines}", "  ".repeat(s.depth.into()), s.kind, s.name)
        })
        .collect();
    assert_eq!(said, expected, "{source}");
}

#[test]
fn rust() {
    let source = "/// A thing.\n#[derive(Debug)]\npub struct Thing {\n    a: u8,\n}\n\nimpl Thing {\n    /// New.\n    pub fn new(\n        a: u8,\n    ) -> Self {\n        fn inner() {}\n        Self { a }\n    }\n}\n\ntrait Draw { fn draw(&self); }\nmacro_rules! m { () => {} }\nconst N: u8 = 1;\n";
    check(
        "a.rs",
        source,
        &[
            "Type Thing 1 3 3 5",
            "Extension Thing 7 7 7 15",
            "  Method new 8 9 11 14",
            "Interface Draw 17 17 17 17",
            "  Method draw 17 17 17 17",
            "Macro m 18 18 18 18",
            "Constant N 19 19 19 19",
        ],
    );
}

#[test]
fn python() {
    let source = "# Helps.\n@decorated\ndef help(a,\n         b):\n    def inner():\n        pass\n    return a\n\nclass Thing(Base):\n    def run(self):\n        pass\n";
    check("a.py", source, &["Function help 1 3 4 7", "Type Thing 9 9 9 11", "  Method run 10 10 10 11"]);
}

#[test]
fn javascript_and_typescript() {
    let source = "export const run = (a) => {\n  return a;\n};\nThing.prototype.draw = function () {\n};\nclass Thing { draw() {} }\nconst table = { help: function () {} };\n";
    check(
        "a.js",
        source,
        &[
            "Function run 1 1 1 3",
            "Function draw 4 4 4 5",
            "Type Thing 6 6 6 6",
            "  Method draw 6 6 6 6",
            "Method help 7 7 7 7",
        ],
    );
    check(
        "a.ts",
        "export interface Shape {\n  a: string\n}\nexport type Name = string;\nenum Colour { Red }\n",
        &["Interface Shape 1 1 1 3", "Type Name 4 4 4 4", "Type Colour 5 5 5 5"],
    );
}

#[test]
fn go_and_java() {
    let source = "package a\n\n// Thing is one.\ntype Thing struct {\n\ta int\n}\n\nfunc (t *Thing) Draw() {\n}\n\nfunc New() *Thing { return nil }\n";
    check("a.go", source, &["Type Thing 3 4 4 6", "Method Draw 8 8 8 9", "Function New 11 11 11 11"]);
    let source = "package a;\n/** A thing. */\npublic class Thing {\n    @Override\n    public int size() {\n        return 1;\n    }\n}\n";
    check("A.java", source, &["Type Thing 2 3 3 8", "  Method size 4 5 5 7"]);
}

#[test]
fn what_is_written_to_be_deep_or_long_is_bounded() {
    let deep = symbols_at("a.rs", &"mod a {".repeat(20_000));
    assert!(deep.len() <= proem_imports::symbols::MOST);
    let many = "fn a() {}\n".repeat(10_000);
    assert_eq!(symbols_at("a.rs", &many).len(), proem_imports::symbols::MOST);
    let limits = SourceLimits::default();
    let parsed = ParsedSource::new(SourceLanguage::Rust, many.as_bytes(), &limits, &mut || false).unwrap();
    assert!(parsed.symbols(&mut || true).is_err());
}
