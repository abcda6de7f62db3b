//! Patterns of paths that stay out, in the syntax of gitignore(5).
//!
//! A line is a pattern; `#` begins a comment, `!` takes a path back, a slash at the end means folders, a slash elsewhere
//! ties the pattern to the root. `*` and `?` stand for anything but a slash, `**` for folders. A path below an ignored
//! folder can't be taken back, as with git. Character classes are not read: a pattern with one ignores what its signs
//! match literally.

/// The most patterns that are read.
const MOST: usize = 1_000;

/// Patterns, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnorePatterns(Vec<IgnorePattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnorePattern {
    /// The parts between slashes.
    parts: Vec<Vec<u8>>,
    takes_back: bool,
    folders_only: bool,
}

impl IgnorePatterns {
    /// Reads a file of patterns.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        Self(lines.take(MOST).filter_map(IgnorePattern::parse).collect())
    }

    /// Whether a path, `/` between its parts, stays out.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        (1..=parts.len()).any(|length| {
            let head = parts.get(..length).unwrap_or_default();
            let is_folder = length < parts.len();
            let last = self.0.iter().rev().find(|pattern| pattern.matches(head, is_folder));
            last.is_some_and(|pattern| !pattern.takes_back)
        })
    }
}

impl IgnorePattern {
    fn parse(line: &[u8]) -> Option<Self> {
        let (takes_back, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (folders_only, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        let is_tied = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        let mut parts: Vec<Vec<u8>> = line.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect();
        if !is_tied {
            parts.insert(0, b"**".to_vec());
        }
        (!line.is_empty()).then_some(Self { parts, takes_back, folders_only })
    }

    fn matches(&self, path: &[&[u8]], is_folder: bool) -> bool {
        (is_folder || !self.folders_only) && parts_match(&self.parts, path)
    }
}

/// Whether the parts of a pattern match all parts of a path. `reached` says which parts of the pattern may begin here,
/// so that any number of `**` takes a time that grows with the product of both lengths alone.
fn parts_match(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    let mut reached = vec![false; pattern.len().saturating_add(1)];
    let open = |reached: &mut Vec<bool>| {
        for (at, part) in pattern.iter().enumerate() {
            if reached.get(at) == Some(&true)
                && part.as_slice() == b"**"
                && let Some(slot) = reached.get_mut(at.saturating_add(1))
            {
                *slot = true;
            }
        }
    };
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    open(&mut reached);
    for part in path {
        let mut next = vec![false; reached.len()];
        for (at, wanted) in pattern.iter().enumerate().filter(|(at, _)| reached.get(*at) == Some(&true)) {
            let to = if wanted.as_slice() == b"**" {
                Some(at)
            } else {
                part_matches(wanted, part).then_some(at.saturating_add(1))
            };
            if let Some(slot) = to.and_then(|to| next.get_mut(to)) {
                *slot = true;
            }
        }
        reached = next;
        open(&mut reached);
    }
    reached.last() == Some(&true)
}

/// Whether `*` and `?` in one part match a name. The last star is tried again from the next letter, never an earlier one.
fn part_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match (pattern.get(at), name.get(place)) {
            (Some(b'*'), _) => {
                star = Some((at, place));
                at = at.saturating_add(1);
            }
            (Some(wanted), Some(found)) if *wanted == b'?' || wanted == found => {
                at = at.saturating_add(1);
                place = place.saturating_add(1);
            }
            _ => {
                let Some((star_at, from)) = star else { return false };
                star = Some((star_at, from.saturating_add(1)));
                (at, place) = (star_at.saturating_add(1), from.saturating_add(1));
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &str, out: &[&str], stays: &[&str]) {
        let read = IgnorePatterns::parse(patterns.as_bytes());
        for path in out {
            assert!(read.matches(path.as_bytes()), "{patterns:?} {path}");
        }
        for path in stays {
            assert!(!read.matches(path.as_bytes()), "{patterns:?} {path}");
        }
    }

    #[test]
    fn patterns_are_gits() {
        check("*.log\n", &["a.log", "x/b.log"], &["a.logs", "log"]);
        check("/build\n", &["build", "build/x"], &["src/build", "builds"]);
        check("secret/\n", &["secret/a", "x/secret/a"], &["secret"]);
        check("docs/*.md", &["docs/a.md"], &["docs/x/a.md", "a.md"]);
        check("docs/**/a", &["docs/a", "docs/x/y/a"], &["a"]);
        check("*\n!keep.rs\n", &["a.rs", "x/keep.rs"], &["keep.rs"]);
        check("# note\n\n?.rs", &["a.rs"], &["ab.rs"]);
        check("", &[], &["a"]);
    }

    #[test]
    fn a_pattern_that_is_written_to_be_slow_is_not() {
        let pattern = format!("{}b", "*a".repeat(500));
        assert!(!IgnorePatterns::parse(pattern.as_bytes()).matches("a".repeat(5_000).as_bytes()));
        let deep = "**/a/".repeat(200);
        assert!(!IgnorePatterns::parse(deep.as_bytes()).matches("a/b/".repeat(200).as_bytes()));
    }
}
