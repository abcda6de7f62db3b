use alloc::format;
use alloc::string::String;

use super::*;

/// The files of a patch that comes in two pieces.
fn files(patch: &str, cut: usize) -> Vec<FilePatch> {
    let mut reader = PatchReader::default();
    let (first, second) = patch.as_bytes().split_at(cut);
    let mut items = reader.take(first);
    items.extend(reader.take(second));
    items.extend(reader.end());
    let file = |item| match item {
        PatchItem::File(file) => Some(file),
        PatchItem::Line(_) => None,
    };
    items.into_iter().filter_map(file).collect()
}

fn patch(path: &str, removed: &[&str], added: &[&str]) -> FilePatch {
    let lines = |lines: &[&str]| lines.iter().map(|line| line.as_bytes().to_vec()).collect();
    let hunk = Hunk { old_start: 5, removed: lines(removed), new_start: 7, added: lines(added) };
    FilePatch { path: RepoPath::new(path), hunks: alloc::vec![hunk], ..FilePatch::default() }
}

const PATCH: &str = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1 @@ fn one()\n-let old = 12;\n\
    --- b/x.lock\n+let new = parse_it(old);\ndiff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\n--- a/gone.rs\n\
    +++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n";

#[test]
fn a_patch_is_read_in_any_pieces() {
    for cut in 0..PATCH.len() {
        let read = files(PATCH, cut);
        let shown: String = read
            .iter()
            .flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)))
            .map(|(file, hunk)| format!("{} -{} +{}; ", file.path.to_text(), hunk.removed.len(), hunk.added.len()))
            .collect();
        assert_eq!(shown, "a.rs -2 +1; gone.rs -1 +0; ", "{cut}");
    }
}

/// The hunks of a patch as `-line,removed +line,added`, and the numbers of the lines kept around them.
fn shape(patch: &str) -> (String, Vec<u32>) {
    let read = files(patch, 0);
    let hunks = read.iter().flat_map(|file| &file.hunks);
    let hunk =
        |hunk: &Hunk| format!("-{},{} +{},{}; ", hunk.old_start, hunk.removed.len(), hunk.new_start, hunk.added.len());
    (hunks.map(hunk).collect(), read.iter().flat_map(|file| &file.around).map(|kept| kept.line).collect())
}

#[test]
fn a_patch_with_context_has_the_hunks_of_one_without() {
    let head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n";
    let plain = format!("{head}@@ -3 +3 @@\n-c\n+C\n@@ -5,0 +6,2 @@\n+x\n+y\n@@ -8,2 +9,0 @@\n-h\n-i\n");
    let kept = "compute_total(of_all, things);";
    let context = format!(
        "{head}@@ -1,10 +1,10 @@ fn one()\n {kept}\n b\n-c\n+C\n {kept}\n\n+x\n+y\n {kept} \n g\n-h\n-i\n {kept}\n"
    );
    let expected = "-3,1 +3,1; -5,0 +6,2; -8,2 +9,0; ";
    assert_eq!(shape(&plain), (expected.into(), alloc::vec![]));
    assert_eq!(shape(&context), (expected.into(), alloc::vec![1, 4, 8, 10]));
}

#[test]
fn lines_beside_code_that_is_only_added_or_beside_a_comment_say_nothing() {
    let head = "diff --git a/a.php b/a.php\n--- a/a.php\n+++ b/a.php\n";
    let kept = "return compute_total(of_all, things);";
    assert_eq!(shape(&format!("{head}@@ -1,1 +1,2 @@\n {kept}\n+more();\n")).1, [0_u32; 0]);
    assert_eq!(shape(&format!("{head}@@ -1,2 +1,2 @@\n {kept}\n-     * @param a\n+     * @param b\n")).1, [0_u32; 0]);
    assert_eq!(shape(&format!("{head}@@ -1,2 +1,2 @@\n {kept}\n-more();\n+less();\n")).1, [1]);
}

#[test]
fn a_kept_line_that_looks_like_a_head_begins_nothing() {
    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n @@ -9,9 +9,9 @@\n diff --git a/x b/x\n-old\n+new\n \
        +++ of_some(other, things_of_it);\n";
    assert_eq!(shape(patch), ("-3,1 +3,1; ".into(), alloc::vec![4]));
    // A hunk that promises more lines than it has ends with its file.
    let short = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n-old\n+new\n";
    assert_eq!(shape(short).0, "-1,1 +1,1; ");
}

#[test]
fn ids_of_commits_stand_between_patches() {
    let id = "0123456789012345678901234567890123456789";
    let mut reader = PatchReader::default();
    let items = reader.take(format!("{id}\n{PATCH}{id}\n").as_bytes());
    let lines = items.iter().filter(|item| **item == PatchItem::Line(id.as_bytes().to_vec())).count();
    assert_eq!((lines, items.len()), (2, 4));
    assert!(matches!(items.last(), Some(PatchItem::Line(_))));
}

#[test]
fn a_line_in_a_patch_ends_no_file_and_begins_none() {
    let hostile = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n-diff --git a/x b/x\n--- a/x\n-@@ -9,9 +9,9 @@\n++++ b/y\n+z\n";
    let read = files(hostile, 0);
    assert_eq!(read.len(), 1);
    assert_eq!(read.first().map(|file| file.path.to_text()), Some("a".into()));
    assert_eq!(read.first().map(|file| file.hunks.len()), Some(1));
}

#[test]
fn a_huge_patch_is_cut_and_has_no_prints() {
    let lines = "+let something = other_thing_altogether();\n".repeat(FILE_LINES + 1);
    let huge = format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,{} @@\n{lines}", FILE_LINES + 1);
    let read = files(&huge, 100);
    assert!(read.first().is_some_and(|file| file.is_cut && file.prints() == LinePrints::default()));
    let long = format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+{}\n", "x".repeat(LONGEST_LINE + 1));
    assert!(files(&long, 0).first().is_some_and(|file| file.is_cut));
}

#[test]
fn prints_are_those_of_telling_lines_whatever_their_space() {
    let one = patch(
        "a.c",
        &["  return compute_total(a,  b);"],
        &["return compute_total(a, b);", "}", "// a long comment line here"],
    );
    assert_eq!(one.prints(), LinePrints::default(), "the line only moved, a brace and a comment tell nothing");
    let prose = patch("a.py", &["Call a prompt function, passing the full prompt on"], &[]);
    assert_eq!(prose.prints(), LinePrints::default(), "prose of a docstring");
    for line in ["The value of a prompt (or its default), as text.", "Call the hook when it is set (see above)"] {
        assert_eq!(patch("a.py", &[line], &[]).prints(), LinePrints::default(), "{line}");
    }
    for line in [
        "static unsigned long long total(int start)",
        "if not self.is_open and name in known and value not in seen[0]:",
        "public static final synchronized Map<String> make()",
        "raise ValueError('this is not a good value at all')",
    ] {
        assert_eq!(patch("a.py", &[line], &[]).prints().removed.len(), 1, "{line}");
    }
    let two = patch("a.c", &[], &["if (total > limit_of(account)) reject();"]);
    assert_eq!(two.prints().added.len(), 1);
}

#[test]
fn a_line_that_a_formatter_breaks_is_not_gone() {
    let old = "else -> throw ProtocolException(\"expected a time at $reader\")";
    let new = ["else -> {", "throw ProtocolException(\"expected a time at $reader\")", "}"];
    assert_eq!(patch("a.kt", &[old], &new).prints().removed, [0_u64; 0]);
    let other = ["else -> {", "throw ProtocolException(\"expected no time at $reader\")", "}"];
    assert_eq!(patch("a.kt", &[old], &other).prints().removed.len(), 1);
    let negated = patch("a.c", &["if (is_open(account)) reject();"], &["if (!is_open(account)) reject();"]);
    assert_eq!(negated.prints().removed.len(), 1);
}

#[test]
fn only_versions_change() {
    let check = |old: &str, new: &str, expected: bool| {
        assert_eq!(patch("Cargo.toml", &[old], &[new]).changes_only_versions(), expected, "{old} → {new}");
    };
    check("version = \"0.4.19\"", "version = \"0.4.20\"", true);
    check(
        "globset = { version = \"0.4.19\", path = \"../globset\" }",
        "globset = { version = \"0.4.20\", path = \"../globset\" }",
        true,
    );
    check("uses: actions/checkout@v4", "uses: actions/checkout@v5", true);
    check("__version__ = \"3.1.3.dev\"", "__version__ = \"3.1.3\"", true);
    check("timeout = 30", "timeout = 3000", false);
    check("let ratio = 0.5;", "let ratio = compute();", false);
    check("name = \"a\"", "name = \"b\"", false);
    assert!(!patch("a", &["version = 1.0.0"], &["version = 1.0.1", "more()"]).changes_only_versions());
}

#[test]
fn only_comments_change() {
    let check = |path: &str, line: &str, expected: bool| {
        assert_eq!(patch(path, &[], &[line]).changes_only_comments(), expected, "{path}: {line}");
    };
    check("a.c", "// why", true);
    check("a.c", " * inside of one", true);
    check("a.c", "*pointer = 3;", false);
    check("a.c", "  * pointer = 3;", false);
    check("a.c", "/* why */ run();", false);
    check("a.py", "# why", true);
    check("a.c", "#include <x.h>", false);
    check("a.sh", "#!/bin/sh", false);
    check("a.unknown", "# why", false);
    check("a.py", "", true);
    // A line that a compiler or an interpreter obeys is no comment.
    check("a.go", "//go:build ignore", false);
    check("a.go", "//go:linkname local runtime.exit", false);
    check("a.py", "# -*- coding: utf-7 -*-", false);
    check("a.rb", "# frozen_string_literal: false", false);
    check("a.rs", "/// A document.", true);
}

#[test]
fn operations_are_told_by_words_of_code() {
    let check = |removed: &[&str], added: &[&str], expected: &[Operation]| {
        let found: Vec<Operation> =
            operation_sites(&patch("a.rs", removed, added)).iter().map(|site| site.operation).collect();
        assert_eq!(found, expected, "{removed:?} → {added:?}");
    };
    check(&[], &["let guard = state.lock().unwrap();"], &[Operation::Concurrency]);
    check(&["let block_size = 3;"], &["let block_size = 4;"], &[]);
    check(&[], &["// takes the mutex"], &[]);
    check(&["if err != nil {", "return err"], &["x()"], &[Operation::ErrorPath]);
    check(&["if err != nil {"], &["if err != nil && retry {"], &[]);
    check(&["return -1L", "one()"], &["return 0L"], &[]);
    check(&["assert_eq!(one, two);"], &[], &[Operation::Assertions]);
    check(&[], &[concat!("#[", "ignore]")], &[Operation::SkippedTest]);
    check(&[], &["@pytest.mark.skipif(WIN, reason=why)"], &[]);
    check(&["run()"], &["if testing.Short() {", "t.Skip(\"slow\")", "}"], &[]);
    check(&["run()"], &["t.Skip(\"broken\")"], &[Operation::SkippedTest]);
    check(&[], &["if os.name == 'nt': pytest.skip('no fork')"], &[]);
    check(&[], &["public function testX()", "{", "$this->markTestSkipped('x');"], &[]);
    check(&["run()"], &["$this->markTestSkippedWhenUsingSync();"], &[]);
    check(&[], &["@pytest.mark.skip(reason=why)", "def test_of_something_new():"], &[Operation::AddedTest]);
    check(&[], &["cursor.execute(\"DROP TABLE users\")"], &[Operation::StoredData]);
}
