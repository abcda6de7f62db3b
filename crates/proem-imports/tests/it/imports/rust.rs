use crate::imports::{check, read, resolved};

const CARGO: &str = "[package]\nname = \"my-lib\"\n";

#[test]
fn paths_lead_to_the_longest_module_that_is_a_file() {
    check(
        &[
            ("Cargo.toml", CARGO),
            ("src/lib.rs", "mod a;\npub mod b;\npub use a::Thing;\nuse std::fmt;\n"),
            (
                "src/a.rs",
                "mod inner;\nuse crate::b::{self, make, deep::Far as F};\nuse self::inner::X;\npub struct Thing;\nfn f() { make(); b::make(); F::new(); b::deep::go(); }\n",
            ),
            ("src/a/inner.rs", "use super::Thing;\npub struct X;\n"),
            ("src/b/mod.rs", "pub mod deep;\npub fn make() {}\n"),
            ("src/b/deep.rs", "use crate::Thing;\npub struct Far;\npub fn go() { crate::b::make(); Thing::x(); }\n"),
            ("src/main.rs", "use my_lib::Thing;\nfn main() { my_lib::b::make(); }\n"),
        ],
        &[
            "src/lib.rs -> src/a.rs",
            "src/a.rs -> src/a/inner.rs",
            "src/a.rs -> src/b/mod.rs 3",
            "src/a.rs -> src/b/deep.rs 1",
            "src/a/inner.rs -> src/a.rs",
            "src/b/deep.rs -> src/lib.rs",
            "src/b/deep.rs -> src/a.rs 1",
            "src/b/deep.rs -> src/b/mod.rs 1",
            "src/main.rs -> src/lib.rs",
            "src/main.rs -> src/a.rs",
            "src/main.rs -> src/b/mod.rs 1",
            "src/lib.rs: 1 external",
        ],
    );
}

#[test]
fn members_of_a_workspace_know_one_another_by_name() {
    check(
        &[
            (
                "crates/one/Cargo.toml",
                "[package]\nname = \"one\"\n[dependencies]\nother = { package = \"two-x\", path = \"../two\" }\n",
            ),
            (
                "crates/one/src/lib.rs",
                "use other::thing::T;\nuse two_x::*;\nuse serde::Serialize;\npub fn f() { T::new(); }\n",
            ),
            ("crates/one/tests/it/main.rs", "mod common;\nuse one::f;\n#[test]\nfn t() { f(); common::help(); }\n"),
            ("crates/one/tests/it/common.rs", "pub fn help() {}\n"),
            ("crates/two/Cargo.toml", "[package]\nname = \"two-x\"\n"),
            ("crates/two/src/lib.rs", "pub mod thing;\n"),
            ("crates/two/src/thing.rs", "pub struct T;\n"),
        ],
        &[
            "crates/one/src/lib.rs -> crates/two/src/lib.rs ?",
            "crates/one/src/lib.rs -> crates/two/src/thing.rs 1",
            "crates/one/tests/it/main.rs -> crates/one/src/lib.rs 1",
            "crates/one/tests/it/main.rs -> crates/one/tests/it/common.rs test 1",
            "crates/one/src/lib.rs: 1 external",
        ],
    );
}

#[test]
fn declaring_a_module_owns_it_and_imports_nothing() {
    let found = resolved(&[
        ("Cargo.toml", CARGO),
        (
            "src/lib.rs",
            "mod a;\n#[path = \"odd/name.rs\"]\nmod b;\nmod inline { mod c; }\nmod gone;\n#[cfg(test)]\nmod tests;\n",
        ),
        ("src/a.rs", ""),
        ("src/odd/name.rs", ""),
        ("src/inline/c.rs", ""),
        ("src/tests.rs", "use super::a;\n"),
    ]);
    assert_eq!(
        found,
        [
            "src/lib.rs -> src/a.rs owns",
            "src/lib.rs -> src/odd/name.rs owns",
            "src/lib.rs -> src/inline/c.rs owns",
            "src/lib.rs -> src/tests.rs owns",
            "src/tests.rs -> src/a.rs",
        ]
    );
}

#[test]
fn test_code_inside_a_source_is_told_apart() {
    let source = "use crate::b::B;\n\npub fn f() -> B {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::c::C;\n\n    #[test]\n    fn t() { C::x(); crate::d::y(); }\n}\n";
    check(
        &[
            ("Cargo.toml", CARGO),
            ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("src/a.rs", source),
            ("src/b.rs", "pub struct B;\n"),
            ("src/c.rs", "pub struct C;\n"),
            ("src/d.rs", "pub fn y() {}\n"),
        ],
        &["src/a.rs -> src/b.rs", "src/a.rs -> src/c.rs test 1", "src/a.rs -> src/d.rs test 1"],
    );
    let facts = read("a.rs", source);
    assert_eq!((facts.lines, facts.inline_test_lines), (9, 6));
    let facts = read(
        "a.rs",
        "#[tokio::test]\n// why\nasync fn t() {\n}\n#[cfg(not(test))]\nfn g() {}\n#[cfg(all(test, unix))]\nfn h() {}\n",
    );
    assert_eq!(facts.inline_test_lines, 3);
}

#[test]
fn a_file_that_nothing_compiles_is_honest_about_it() {
    check(
        &[("Cargo.toml", CARGO), ("src/lib.rs", ""), ("src/loose.rs", "use crate::a;\nuse super::b;\nuse std::io;\n")],
        &["src/loose.rs: 2 unresolved", "src/loose.rs: 1 external"],
    );
    check(&[("Cargo.toml", CARGO), ("src/lib.rs", "use super::x;\nuse self::y::Z;\n")], &["src/lib.rs: 1 unresolved"]);
}

#[test]
fn groups_may_be_nested() {
    let facts = read("a.rs", "pub(crate) use {a::{b, c::{self as d, e::*}}, ::f};\nextern crate g as h;\n");
    let paths: Vec<_> = facts.imports.iter().map(|i| (i.path.as_str(), i.bindings[0].local.as_str())).collect();
    assert_eq!(paths, [("a::b", "b"), ("a::c", "d"), ("a::c::e", "*"), ("::f", "f"), ("::g", "h")]);
}
