//! The string literals of a source.

/// Each string literal with the line at which it begins, counted from 1, in one pass over the source.
///
/// Escaped line breaks are joined as the compiler joins them. Other escapes are read as the character behind the
/// backslash, and `\\n` as a line break. Comments and character literals have no strings.
pub(super) fn string_literals(source: &str) -> Vec<(usize, String)> {
    let mut literals = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, literal) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), None),
            '"' => quoted_string(rest),
            'r' if !is_word_end(source, rest) => raw_string(rest).unwrap_or((1, None)),
            '\'' => (character_length(rest), None),
            first => (first.len_utf8(), None),
        };
        literals.extend(literal.map(|text| (line, text)));
        let (read, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        line += read.matches('\n').count();
        rest = behind;
    }
    literals
}

/// Whether the character before `rest` belongs to the same word.
fn is_word_end(source: &str, rest: &str) -> bool {
    let before = source.len().checked_sub(rest.len()).and_then(|at| source.get(..at));
    before.and_then(|before| before.chars().next_back()).is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// The length of a literal that begins with a quotation mark, and its text.
fn quoted_string(text: &str) -> (usize, Option<String>) {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (at + 1, Some(out)),
            '\\' => match chars.next() {
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, 'n')) => out.push('\n'),
                Some((_, c)) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    (text.len(), None)
}

/// The same for `r"…"` and `r#"…"#`. `None` for a word that begins with r.
fn raw_string(text: &str) -> Option<(usize, Option<String>)> {
    let behind = text.strip_prefix('r')?;
    let body = behind.trim_start_matches('#');
    let hashes = behind.len() - body.len();
    let body = body.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let Some((literal, _)) = body.split_once(&end) else { return Some((text.len(), None)) };
    Some((literal.len() + 2 * hashes + 3, Some(literal.to_owned())))
}

/// The length of a character literal, or of the mark of a lifetime.
fn character_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let (first, second) = (chars.next(), chars.next());
    match (first, second) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            text.get(from..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_the_compiler_reads_them() {
        for (source, expected) in [
            ("f(\"a\", \"b\")", &[(1, "a"), (1, "b")][..]),
            ("// \"no\"\nf(\"a \\\n   b\")\nf(\"c\")", &[(2, "a b"), (4, "c")]),
            ("f(\"say \\\"a\\\"\\nb\")", &[(1, "say \"a\"\nb")]),
            ("r#\"raw \"a\" \\n\"#; \"b\"", &[(1, "raw \"a\" \\n"), (1, "b")]),
            ("'\"' '\\'' '\\u{22}' fn f<'a>(x: &'a str) { \"b\" }", &[(1, "b")]),
            ("hour\"a\"", &[(1, "a")]),
            ("\"open", &[]),
        ] {
            let found = string_literals(source);
            let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!(found, expected, "{source}");
        }
    }
}
