//! What sources define, in every language: kind, name, and the lines of documentation, signature and body.

use proem_imports::{SourceLanguage, SourceLimits, symbols};

#[track_caller]
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn check(language: Option<SourceLanguage>, source: &str, expected: &[&str]) {
    let found = symbols(language, source.as_bytes(), &SourceLimits::default(), &mut || false).unwrap();
    let said: Vec<String> = found
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
        Some(SourceLanguage::Rust),
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
    check(
        Some(SourceLanguage::Python),
        source,
        &["Function help 1 3 4 7", "Type Thing 9 9 9 11", "  Method run 10 10 10 11"],
    );
}

#[test]
fn javascript_and_typescript() {
    let source = "export const run = (a) => {\n  return a;\n};\nThing.prototype.draw = function () {\n};\nclass Thing { draw() {} }\nconst table = { help: function () {} };\n";
    check(
        Some(SourceLanguage::JavaScript),
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
        Some(SourceLanguage::TypeScript),
        "export interface Shape {\n  a: string\n}\nexport type Name = string;\nenum Colour { Red }\n",
        &["Interface Shape 1 1 1 3", "Type Name 4 4 4 4", "Type Colour 5 5 5 5"],
    );
}

#[test]
fn go_and_java() {
    let source = "package a\n\n// Thing is one.\ntype Thing struct {\n\ta int\n}\n\nfunc (t *Thing) Draw() {\n}\n\nfunc New() *Thing { return nil }\n";
    check(Some(SourceLanguage::Go), source, &["Type Thing 3 4 4 6", "Method Draw 8 8 8 9", "Function New 11 11 11 11"]);
    let source = "package a;\n/** A thing. */\npublic class Thing {\n    @Override\n    public int size() {\n        return 1;\n    }\n}\n";
    check(Some(SourceLanguage::Java), source, &["Type Thing 2 3 3 8", "  Method size 4 5 5 7"]);
}

#[test]
fn languages_without_a_parser_by_the_start_of_a_line() {
    let source = "class Thing {\n    def run(a) {\n        if (a) {\n        }\n    }\n    private void draw(int x) {\n    }\n}\n";
    check(None, source, &["Type Thing 1 1 1 8", "  Method run 2 2 2 5", "  Method draw 6 6 6 7"]);
    let source = "#include <a.h>\nstatic int helper(int a)\n{\n  return call(a);\n}\n\nstruct thing {\n  int a;\n};\n";
    check(Some(SourceLanguage::C), source, &["Function helper 2 2 2 5", "Type thing 7 7 7 9"]);
    check(None, "\n\n// nothing\n", &[]);
}

#[test]
fn what_is_written_to_be_deep_or_long_is_bounded() {
    let deep = "mod a {".repeat(20_000);
    let found = symbols(Some(SourceLanguage::Rust), deep.as_bytes(), &SourceLimits::default(), &mut || false).unwrap();
    assert!(found.len() <= proem_imports::symbols::MOST);
    let many = "fn a() {}\n".repeat(10_000);
    let found = symbols(Some(SourceLanguage::Rust), many.as_bytes(), &SourceLimits::default(), &mut || false).unwrap();
    assert_eq!(found.len(), proem_imports::symbols::MOST);
    let cut = symbols(Some(SourceLanguage::Rust), many.as_bytes(), &SourceLimits::default(), &mut || true);
    assert!(cut.is_err());
}
