//! Tests that belong to files, and reports of all three formats.

use proptest::prelude::*;

use super::*;
use crate::graph::{Edge, Graph};
use crate::path::{GitAttributes, PathRules, classify_path};
use crate::tree::{Imports, TreeFile};

/// A tree of ten lines a file. Edges by path.
fn tree(paths: &[&str], edges: &[(&str, &str, EdgeKind)]) -> FileTree {
    let rules = PathRules::shipped().unwrap();
    let mut paths = paths.to_vec();
    paths.sort_unstable();
    let at = |path: &str| u32::try_from(paths.iter().position(|known| *known == path).unwrap()).unwrap();
    let edges = edges.iter().map(|(from, to, kind)| Edge { from: at(from), to: at(to), kind: *kind, calls: None });
    let graph = Graph::new(u32::try_from(paths.len()).unwrap(), edges.collect::<Vec<_>>());
    let files = paths.iter().map(|path| TreeFile {
        path: RepoPath::new(*path),
        class: classify_path(&RepoPath::new(*path), &GitAttributes::default(), &rules),
        lines: Some(10),
        inline_tests: 0,
        imports: Imports::NoParser,
    });
    FileTree { files: files.collect(), graph, gaps: vec![] }
}

fn at(tree: &FileTree, path: &str) -> u32 {
    tree.find(&RepoPath::new(path)).unwrap()
}

/// The tests of the first path, by name alone.
#[track_caller]
fn check(path: &str, others: &[&str], expected: &[&str]) {
    let tree = tree(&[&[path], others].concat(), &[]);
    let tests = find_tests(&tree, at(&tree, path), &[]);
    let found: Vec<String> =
        tests.iter().flat_map(|tests| &tests.files).map(|&file| tree.files[file as usize].path.to_text()).collect();
    assert_eq!(found, expected, "{path}");
    assert_eq!(tests.as_ref().map(|tests| tests.found), (!expected.is_empty()).then_some(TestLink::Name));
}

#[test]
fn tests_by_their_names() {
    check("pkg/users.py", &["pkg/test_users.py", "pkg/test_user.py"], &["pkg/test_users.py"]);
    check("src/app/users.py", &["tests/app/test_users.py", "tests/other/test_users.py"], &["tests/app/test_users.py"]);
    check("src/app/users.py", &["tests/test_users.py"], &["tests/test_users.py"]);
    check("src/app/users.py", &["tests/unit/app/test_users.py"], &["tests/unit/app/test_users.py"]);
    check("app/users/__init__.py", &["tests/app/test_users.py"], &["tests/app/test_users.py"]);
    check(
        "m/src/main/java/org/a/Foo.java",
        &["m/src/test/java/org/a/FooTest.java", "m/src/test/java/org/b/FooTest.java"],
        &["m/src/test/java/org/a/FooTest.java"],
    );
    check(
        "web/a.ts",
        &["web/a.spec.ts", "web/__tests__/a.ts", "web/b.spec.ts"],
        &["web/__tests__/a.ts", "web/a.spec.ts"],
    );
    check("web/A.tsx", &["web/__tests__/A.test.tsx"], &["web/__tests__/A.test.tsx"]);
    check("pkg/a.go", &["pkg/a_test.go", "other/a_test.go"], &["pkg/a_test.go"]);
    check("crates/x/src/a.rs", &["crates/x/tests/a.rs", "crates/y/tests/a.rs"], &["crates/x/tests/a.rs"]);
    check("crates/x/src/a.rs", &["crates/x/src/a/tests.rs"], &["crates/x/src/a/tests.rs"]);
    check("crates/x/src/a/mod.rs", &["crates/x/src/a/tests.rs"], &["crates/x/src/a/tests.rs"]);
    check(
        "app/models/user.rb",
        &["spec/models/user_spec.rb", "spec/other/user_spec.rb"],
        &["spec/models/user_spec.rb"],
    );
    check("a.c", &["a_test.c", "test_a.c"], &["a_test.c", "test_a.c"]);
}

#[test]
fn files_without_tests_are_unknown() {
    check("pkg/users.py", &["pkg/contest_users.py", "docs/test_users.md", "web/users.test.ts"], &[]);
    check("pkg/users.py", &["tests-old/test_users.py"], &[]);
    check("a.unheardof", &["tests/a.unheardof"], &[]);
    check("tests/test_users.py", &["tests/users_test.py"], &[]);
    check("noextension", &["tests/noextension"], &[]);
}

#[test]
fn tests_inside_importing_and_changing_along() {
    let mut tree = tree(
        &["src/a.py", "src/b.py", "src/c.py", "tests/test_a.py", "tests/x.py", "tests/y.py"],
        &[
            ("tests/x.py", "src/a.py", EdgeKind::Import),
            ("tests/x.py", "src/b.py", EdgeKind::Import),
            ("src/c.py", "src/b.py", EdgeKind::Import),
            ("tests/y.py", "src/b.py", EdgeKind::TypeOnly),
        ],
    );
    let path = |name: &str| at(&tree, name);
    let (a, b, c, x, y) =
        (path("src/a.py"), path("src/b.py"), path("src/c.py"), path("tests/x.py"), path("tests/y.py"));
    let of = |tree: &FileTree, file, along: &[u32]| {
        find_tests(tree, file, along).map(|tests| (tests.files, tests.lines, tests.found))
    };
    let named = path("tests/test_a.py");
    assert_eq!(of(&tree, a, &[]), Some((vec![named, x], 20, TestLink::Name)));
    assert_eq!(of(&tree, b, &[]), Some((vec![x], 10, TestLink::Import)));
    assert_eq!(of(&tree, b, &[x, y]), Some((vec![x, y], 20, TestLink::Import)));
    assert_eq!(of(&tree, c, &[y, a, 99]), Some((vec![y], 10, TestLink::CoChange)));
    assert_eq!(of(&tree, c, &[]), None);
    assert_eq!(of(&tree, x, &[y]), None);
    assert_eq!(of(&tree, 99, &[y]), None);
    tree.files[c as usize].inline_tests = 7;
    assert_eq!(of(&tree, c, &[]), Some((vec![], 7, TestLink::Inside)));
    assert_eq!(of(&tree, c, &[y]), Some((vec![y], 17, TestLink::Inside)));
    // An unread file is not known to be empty.
    tree.files[x as usize].lines = None;
    assert_eq!(of(&tree, b, &[]), None);
}

const LCOV: &str = "TN:\nSF:/ci/src/a.py\nFN:1,f\nDA:1,5\nDA:2,0\nDA:3,1,abc\nLF:3\nLH:2\nend_of_record\nSF:lib/b.py\nLF:4\nLH:1\nend_of_record\n";
const COBERTURA: &str = r#"<?xml version="1.0"?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage line-rate="0.5" version='x'><!-- <class filename="no"> --><sources><source>/ci</source></sources>
<packages><package name="p"><classes>
<class name="a" filename="src/a&amp;&#98;.py"><methods><method name="f"><lines><line number="1" hits="0"/></lines></method></methods>
<lines><line number="1" hits="2"/><line number="2" hits="0" branch="true"/></lines></class>
<class name="e" filename="src/empty.py"/></classes></package></packages></coverage>
"#;
const PYTHON: &str = r#"{"meta": {"format": 3}, "files": {"src/a.py": {"executed_lines": [1, 2], "missing_lines": [5],
"summary": {"covered_lines": 2}}}, "totals": {}}"#;

#[track_caller]
fn covers(report: &str, path: &str, expected: Option<(u32, u32)>) {
    let coverage = Coverage::read(report.as_bytes()).unwrap();
    assert_eq!(coverage.of(&RepoPath::new(path)).map(|of| (of.covered, of.lines)), expected, "{path}");
}

#[test]
fn three_formats() {
    covers(LCOV, "src/a.py", Some((2, 3)));
    covers(LCOV, "lib/b.py", Some((1, 4)));
    covers(LCOV, "x/lib/b.py", Some((1, 4)));
    covers(LCOV, "x/src/a.py", None);
    covers(COBERTURA, "src/a&b.py", Some((1, 2)));
    covers(COBERTURA, "src/empty.py", None);
    covers(PYTHON, "src/a.py", Some((2, 3)));
    covers(PYTHON, "a.py", Some((2, 3)));
    covers("\u{feff}SF:C:\\ci\\src\\a.py\r\nDA:1,1\r\nend_of_record\r\n", "src/a.py", Some((1, 1)));
}

#[test]
fn a_file_in_several_records_is_covered_where_it_once_was() {
    covers("SF:a\nDA:1,1\nDA:2,0\nend_of_record\nSF:./a\nDA:1,0\nDA:2,0\nDA:3,9\nend_of_record", "a", Some((2, 3)));
}

#[test]
fn paths_match_by_their_end_if_only_one_does() {
    let report =
        "SF:/ci/x/a.py\nDA:1,1\nend_of_record\nSF:/ci/y/a.py\nDA:1,0\nend_of_record\nSF:b.py\nDA:1,1\nend_of_record\n";
    covers(report, "x/a.py", Some((1, 1)));
    covers(report, "y/a.py", Some((0, 1)));
    covers(report, "a.py", None);
    covers(report, "z/a.py", None);
    covers(report, "deep/b.py", Some((1, 1)));
    covers(report, "deep/xb.py", None);
    // A repository knows which files its paths could be.
    let tree = tree(&["x/a.py", "a.py", "p/b.py", "q/b.py"], &[]);
    let placed = Coverage::read(report.as_bytes()).unwrap().placed(&tree);
    let of = |path: &str| placed.of(&RepoPath::new(path)).map(|of| (of.covered, of.lines));
    assert_eq!((of("x/a.py"), of("a.py"), of("p/b.py"), of("q/b.py")), (Some((1, 1)), Some((0, 1)), None, None));
}

#[track_caller]
fn refuses(report: &str, expected: &str) {
    let error = Coverage::read(report.as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Unreadable, expected));
}

#[test]
fn what_is_no_report_or_half_of_one_is_refused() {
    let none = "line 1 of the coverage report: expected lcov, the XML of Cobertura or the JSON of coverage.py; \
                write the report in one of these formats";
    refuses("", none);
    refuses("hello", none);
    refuses("TN:x\n", none);
    refuses("SF:a\nDA:one,1\nend_of_record", &none.replace("line 1", "line 2"));
    refuses(
        "SF:a\nDA:1,1\n",
        "line 2 of the coverage report: the last record has no `end_of_record`; the report is incomplete; generate it \
         again",
    );
    refuses("SF:a\nLF:1\nLH:2\nend_of_record", "line 4 of the coverage report: `LH` is greater than `LF`");
    refuses("DA:1,1", "line 1 of the coverage report: lines need a file: write `SF:PATH` before them");
    refuses(
        "{\"files\": {\"a\": {}}}",
        "line 1 of the coverage report: expected `files` with `executed_lines` and `missing_lines`, as `coverage json` writes them (column 18)",
    );
    refuses(
        "{\"files\":",
        "line 1 of the coverage report: not JSON, or incomplete; generate the report again with `coverage json` \
         (column 9)",
    );
    let root = "line 1 of the coverage report: expected `coverage` with a `line-rate`; write the report in the format of Cobertura";
    refuses("<report/>", root);
    refuses("<coverage clover=\"4\"/>", root);
    refuses(
        "<!DOCTYPE coverage [<!ENTITY a \"b\">]><coverage line-rate=\"1\"/>",
        "line 1 of the coverage report: a DOCTYPE with its own entity definitions is not supported",
    );
    let cut = COBERTURA.trim_end().strip_suffix("</coverage>").unwrap();
    refuses(cut, "line 7 of the coverage report: the report is incomplete; generate it again");
    refuses(
        &COBERTURA.replace("&amp;", "&x;"),
        "line 5 of the coverage report: an attribute has `<`, or `&` for what is no entity of XML",
    );
    refuses(
        &COBERTURA.replace("hits=\"2\"", "hits=\"x\""),
        "line 6 of the coverage report: `line` needs a `number` and `hits`, both whole numbers",
    );
    let deep = "<coverage line-rate=\"1\">".to_owned() + &"<a>".repeat(100_000);
    refuses(&deep, "line 1 of the coverage report: elements are nested too deeply for a Cobertura report");
}

proptest! {
    #[test]
    fn any_bytes_are_a_report_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Coverage::read(&bytes);
    }

    #[test]
    fn a_damaged_report_never_covers_more_than_its_lines(
        which in 0_usize..3, at in 0_usize..900, byte in any::<u8>(), cut in 0_usize..900,
    ) {
        let mut bytes = [LCOV, COBERTURA, PYTHON][which].as_bytes().to_vec();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(bytes.len().max(1) - cut % bytes.len().max(1) / 2);
        if let Ok(coverage) = Coverage::read(&bytes) {
            for path in ["src/a.py", "lib/b.py", "src/a&b.py", "a"] {
                if let Some(of) = coverage.of(&RepoPath::new(path)) {
                    prop_assert!(of.covered <= of.lines);
                }
            }
        }
    }

    #[test]
    fn a_report_without_its_end_is_refused(cut in 1_usize..COBERTURA.trim_end().len()) {
        let whole = COBERTURA.trim_end().as_bytes();
        prop_assert!(Coverage::read(&whole[..whole.len() - cut]).is_err());
    }
}
