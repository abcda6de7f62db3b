//! The project's texts speak of the project, not of one machine. Sources leave nothing unfinished.
//!
//! The words looked for are written in two halves here, so that this file passes its own rule.

use super::{finding::TidyFinding, tree::SourceTree};

/// Paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/tmp/", "target")];

/// A folder beside the project. Tests that look there skip, and say so, when it is absent.
const NEIGHBOUR: &str = concat!("../", "shared/");

/// Marks of unfinished or switched-off code.
const MARKS: &[(&str, &str)] = &[
    (concat!("to", "do!"), "finish it, or return an error"),
    (concat!("unimple", "mented!"), "finish it, or return an error"),
    (concat!("FIX", "ME"), "fix it, or say in an issue what is wrong"),
    (concat!("X", "XX"), "fix it, or say in an issue what is wrong"),
    (concat!("#[ign", "ore"), "make the test run, or delete it"),
    (concat!("#[should_", "panic"), "test the error that is returned"),
];

/// Reads every line of every file.
pub(crate) fn check_wording(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        for (index, line) in text.lines().enumerate() {
            findings.extend(check_line(path, line).map(|finding| finding.at(Some(index + 1))));
        }
    }
    findings
}

fn check_line<'a>(path: &'a str, line: &'a str) -> impl Iterator<Item = TidyFinding> + 'a {
    let machine = MACHINE_PATHS.iter().filter(|needle| has_absolute(line, needle)).map(move |needle| {
        TidyFinding::in_file(
            path,
            format!("`{needle}` is a path of one machine"),
            "write a path relative to the project",
        )
    });
    let beside = (line.contains(NEIGHBOUR) && !path.split('/').any(|name| name == "tests")).then(|| {
        TidyFinding::in_file(path, format!("`{NEIGHBOUR}` lies outside the project"), "copy what is needed into it")
    });
    let marks = MARKS
        .iter()
        .filter(move |(mark, _)| path.ends_with(".rs") && has_lone_word(line, mark))
        .map(move |(mark, remedy)| TidyFinding::in_file(path, format!("`{mark}` in a source"), remedy));
    machine.chain(beside).chain(marks)
}

/// Whether a path is at its root, not as the end of a longer one.
fn has_absolute(line: &str, needle: &str) -> bool {
    preceding_characters(line, needle)
        .any(|before| before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-' | '*')))
}

/// Whether a word is alone on both sides.
fn has_lone_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let ends_in_letter = word.ends_with(is_part) && !word.starts_with('#');
    line.match_indices(word).any(|(start, _)| {
        let before = line.get(..start).and_then(|head| head.chars().next_back());
        let after = line.get(start + word.len()..).and_then(|tail| tail.chars().next());
        !(before.is_some_and(is_part) || ends_in_letter && after.is_some_and(is_part))
    })
}

/// The character before each occurrence.
fn preceding_characters<'a>(line: &'a str, needle: &'a str) -> impl Iterator<Item = Option<char>> + 'a {
    line.match_indices(needle).map(|(start, _)| line.get(..start).and_then(|head| head.chars().next_back()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(path: &str, text: &str) -> Vec<String> {
        finding_lines(&check_wording(&SourceTree::from([(path, text)])))
    }

    #[test]
    fn ordinary_text_passes() {
        let halves = concat!("https://example.org/wo", "rk/ and a/wo", "rk/b, net", "work/ and frame", "work/");
        assert_eq!(problems("README.md", halves), Vec::<String>::new());
        assert_eq!(problems("a.rs", concat!("XX", "XX, TO", "DOS, #[igno", ", my_to", "do!()")), Vec::<String>::new());
        assert_eq!(problems("notes.md", concat!("FIX", "ME in prose about sources")), Vec::<String>::new());
        assert_eq!(problems("crates/a/tests/b.rs", NEIGHBOUR), Vec::<String>::new());
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for line in ["see {}x", "`{}x`", "\"{}x\"", "{}", "file://{}x", "A={}x"] {
            for needle in MACHINE_PATHS {
                assert_eq!(problems("docs/a.md", &line.replace("{}", needle)).len(), 1, "{line} {needle}");
            }
        }
        let needle = MACHINE_PATHS.first().unwrap();
        assert_eq!(
            problems("docs/a.md", &format!("\n{needle}")),
            [format!("docs/a.md:2: `{needle}` is a path of one machine; write a path relative to the project")]
        );
        assert_eq!(problems("docs/a.md", NEIGHBOUR).len(), 1);
    }

    #[test]
    fn unfinished_sources_are_found() {
        for (mark, remedy) in MARKS {
            assert_eq!(
                problems("a.rs", &format!("    {mark}")),
                [format!("a.rs:1: `{mark}` in a source; {remedy}")],
                "{mark}"
            );
        }
        assert_eq!(problems("a.rs", &format!("{}d = \"slow\"]", concat!("#[ign", "ore"))).len(), 1);
    }
}
