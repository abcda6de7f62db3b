//! Settings of a prompt file that change no request, although its author may think so.

use super::config::HeaderRemark;
use super::split::Split;

/// The most names of single-brace placeholders that one remark lists.
const MAX_NAMED: usize = 5;

/// The remarks on a file with this text, each with its line.
pub(super) fn remarks(text: &str, split: &Split<'_>, header: &[HeaderRemark]) -> Vec<String> {
    let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count().saturating_add(1);
    let mut remarks: Vec<String> =
        header.iter().map(|remark| format!("line {}: {}", line_of(remark.at.start), remark.text)).collect();
    let found = single_braces(split.body);
    if let Some((first, at)) = found.first() {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &found {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let listed: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{{{name}}}`")).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let line = line_of(split.body_start.saturating_add(*at));
        remarks.push(format!(
            "line {line}: {} {verb} sent as plain text; write `{{{{{first}}}}}` for the value of an input",
            listed.join(", ")
        ));
    }
    remarks
}

/// The names in single braces, which other template languages fill in, with their places.
///
/// `${name}`, `\name{x}`, `f{x}` and what is inside two braces are none.
fn single_braces(body: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, c) in body.char_indices() {
        let preceded = before.is_some_and(|c: char| matches!(c, '{' | '$' | '\\' | '}') || c.is_alphanumeric());
        before = Some(c);
        if c != '{' || preceded {
            continue;
        }
        let rest = body.get(at.saturating_add(1)..).unwrap_or_default();
        let Some((name, behind)) = rest.split_once('}') else { continue };
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name && !behind.starts_with('}') {
            found.push((name, at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::single_braces;

    #[test]
    fn only_names_in_single_braces_are_placeholders() {
        for (body, expected) in [
            ("Use {context} for {question}.", &["context", "question"][..]),
            ("{{context}} and {{{raw}}}", &[]),
            ("${HOME} and \\frac{a}{b} and f{x}", &[]),
            ("{\"key\": {nested}}", &[]),
            ("{} {two words} {3}", &[]),
            ("{open", &[]),
        ] {
            let found: Vec<&str> = single_braces(body).into_iter().map(|(name, _)| name).collect();
            assert_eq!(found, expected, "{body}");
        }
    }
}
