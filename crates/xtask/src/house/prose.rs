//! Comments: how many lines say why, and which docs say no more than a name.

use crate::tidy::{SourceTree, is_source, without_tests};

/// Words that add nothing to a name.
const FILLING: &[&str] =
    &["a", "all", "an", "as", "by", "for", "from", "in", "its", "it", "of", "on", "the", "this", "to", "with"];

/// The lines of comments that are no docs, and how many lines of code, docs and comments there are in all.
pub(super) fn comment_lines(tree: &SourceTree) -> (Vec<String>, usize) {
    let (mut comments, mut all) = (Vec::new(), 0);
    for (path, text) in tree.files().filter(|(path, _)| is_source(path)) {
        for (index, line) in without_tests(text).into_iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            all += 1;
            let line = line.trim_start();
            if line.starts_with("//") && !line.starts_with("///") && !line.starts_with("//!") {
                comments.push(format!("{path}:{}", index + 1));
            }
        }
    }
    (comments, all)
}

/// Docs of one line whose every word is in the name below them.
pub(super) fn repeating_docs(tree: &SourceTree) -> Vec<String> {
    let mut repeating = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_source(path)) {
        let lines = without_tests(text);
        for (index, line) in lines.iter().enumerate() {
            let Some(doc) = line.trim_start().strip_prefix("/// ") else { continue };
            let is_doc = |line: Option<&&str>| line.is_some_and(|line| line.trim_start().starts_with("///"));
            if is_doc(lines.get(index + 1)) || index.checked_sub(1).is_some_and(|before| is_doc(lines.get(before))) {
                continue;
            }
            let below = lines.iter().skip(index + 1).find(|line| !line.trim_start().starts_with("#["));
            if below.is_some_and(|item| repeats_name(doc, item)) {
                repeating.push(format!("{path}:{} {doc}", index + 1));
            }
        }
    }
    repeating
}

/// Whether a doc has no word beyond those of the item that a line begins.
fn repeats_name(doc: &str, item: &str) -> bool {
    let name = item_name(item).unwrap_or_default();
    let known: Vec<String> = name_stems(name);
    let words = doc.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).filter(|word| !word.is_empty());
    let mut telling = words.filter(|word| !FILLING.contains(&word.as_str())).peekable();
    telling.peek().is_some() && telling.all(|word| known.contains(&stem_of_word(&word)))
}

/// The name of the function, type, field or variant that a line begins.
fn item_name(item: &str) -> Option<&str> {
    const BEFORE: &[&str] =
        &["pub", "crate", "super", "const", "async", "fn", "struct", "enum", "trait", "type", "static", "mod"];
    item.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty() && !BEFORE.contains(word))
}

/// The stems of the words of a name, in camel case or with underscores.
fn name_stems(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words.iter().filter(|word| !word.is_empty()).map(|word| stem_of_word(word)).collect()
}

/// A word in small letters, without the endings of plurals and third persons.
fn stem_of_word(word: &str) -> String {
    let word = word.to_lowercase();
    word.strip_suffix("es")
        .or_else(|| word.strip_suffix('s'))
        .filter(|stem| stem.len() > 2)
        .unwrap_or(&word)
        .trim_end_matches('e')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_that_say_more_than_the_name_are_left_alone() {
        for (doc, item, expected) in [
            ("Reads the charter.", "pub fn read_charter(path: &Path) -> Charter {", true),
            ("The name.", "    pub name: String,", true),
            ("Reads the charter, which a person trusted.", "pub fn read_charter(path: &Path) {", false),
            ("Milliseconds since 1970.", "    pub at: i64,", false),
        ] {
            assert_eq!(repeats_name(doc, item), expected, "{doc}");
        }
    }

    #[test]
    fn comments_are_no_docs() {
        let tree = SourceTree::from([("crates/a/src/lib.rs", "//! Doc.\n\n// Why.\n/// A.\nfn a() {}\n")]);
        assert_eq!(comment_lines(&tree), (vec!["crates/a/src/lib.rs:3".to_owned()], 4));
        assert_eq!(repeating_docs(&tree), Vec::<String>::new());
    }
}
