//! Cuts a prompt file into its front matter and its body.

/// The parts of a prompt file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split<'t> {
    pub(crate) front: Option<(usize, &'t str)>,
    pub(crate) body: &'t str,
    pub(crate) body_start: usize,
}

/// Finds the front matter: comments and blank lines may be before its first `---`.
///
/// Source: dotprompt's reference, <https://google.github.io/dotprompt/reference/frontmatter/>.
pub(crate) fn split_front_matter(text: &str) -> Split<'_> {
    let none = Split { front: None, body: text, body_start: 0 };
    let mut offset = 0usize;
    let mut open = None;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset = offset.saturating_add(line.len());
        let line = if start == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let bare = line.trim_end();
        match open {
            None if bare == "---" => open = Some(offset),
            None if bare.is_empty() || bare.starts_with('#') => {}
            None => return none,
            Some(from) if bare == "---" => {
                let front = text.get(from..start).unwrap_or_default();
                let body = text.get(offset..).unwrap_or_default();
                return Split { front: Some((from, front)), body, body_start: offset };
            }
            Some(_) => {}
        }
    }
    none
}
