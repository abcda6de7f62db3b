//! Patterns of paths that stay out, in the syntax of gitignore(5).
//!
//! A line is a pattern. `#` begins a comment, `!` takes a path back, a slash at the end means folders, a slash
//! elsewhere ties the pattern to the root. `*` and `?` represent anything but a slash, `[a-z]` and `[!a-z]` for one
//! sign, `**` for folders, and a backslash takes a sign's meaning away. A path below an ignored folder can't be taken
//! back, as with git. Invariant: on ASCII patterns the answer is that of `git check-ignore`, which a test asks.

use proem_risk::path::PathPattern;

/// The most patterns that are read.
const MOST: usize = 1_000;

/// Patterns, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnorePatterns(Vec<IgnorePattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnorePattern {
    paths: PathPattern,
    takes_back: bool,
    folders_only: bool,
}

impl IgnorePatterns {
    /// Reads a file of patterns.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let lines =
            text.split(|&byte| byte == b'\n').map(|line| trim_pattern_line(line.strip_suffix(b"\r").unwrap_or(line)));
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        Self(lines.take(MOST).filter_map(IgnorePattern::parse).collect())
    }

    /// Whether a path, `/` between its parts, stays out.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).any(|end| {
            let head = path.get(..end).unwrap_or_default();
            let last = self.0.iter().rev().find(|pattern| pattern.matches(head, end < path.len()));
            last.is_some_and(|pattern| !pattern.takes_back)
        })
    }
}

impl IgnorePattern {
    fn parse(line: &[u8]) -> Option<Self> {
        let (takes_back, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (folders_only, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        Some(Self { paths: PathPattern::new(line)?, takes_back, folders_only })
    }

    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        (is_folder || !self.folders_only) && self.paths.matches(path)
    }
}

/// A line without the spaces at its end. One behind a backslash stays.
fn trim_pattern_line(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line.get(end.saturating_sub(1)) == Some(&b' ') {
        let backslashes = line.iter().take(end.saturating_sub(1)).rev().take_while(|&&byte| byte == b'\\').count();
        if backslashes % 2 == 1 {
            break;
        }
        end = end.saturating_sub(1);
    }
    line.get(..end).unwrap_or(line)
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
        check("[Ss]ecret/\n", &["Secret/a", "secret/a"], &["xecret/a"]);
        check("x[!0-9]\n[[:digit:]].log", &["xa", "7.log"], &["x7", "a.log"]);
        check("a[]-]\n[b\n", &["a]", "a-"], &["ab", "[b"]);
        check("\\#a\n\\!b\nc\\ \nd  \n", &["#a", "!b", "c ", "d"], &["a", "c", "d  "]);
        check("in/**\n!in/keep\n", &["in/a"], &["in/keep", "in"]);
        check("[b/**/[ab]\n", &["a", "b/c", "["], &["c/a", "c", "aa"]);
        check("a\\/b\nc[x/y]d\n[e/\n", &["a/b", "cxd"], &["b", "c/d", "x/cxd", "e", "[e"]);
        check("a**b\n", &["ab", "axyb"], &["a/b"]);
        check("", &[], &["a"]);
    }

    #[test]
    fn a_pattern_for_everything_leaves_no_secret_in() {
        check("**\n", &[".env", "a/b/.env"], &[]);
        check("/**\n", &[".env", "a/b/.env"], &[]);
        check("**/\n", &["a/.env"], &[".env"]);
        // A part without characters matches nothing, and the lines below it still count.
        check("a//b\n.env\n", &[".env", "x/.env"], &["a/b"]);
    }

    #[test]
    fn a_pattern_that_is_written_to_be_slow_is_not() {
        let pattern = format!("{}b", "*a".repeat(500));
        assert!(!IgnorePatterns::parse(pattern.as_bytes()).matches("a".repeat(5_000).as_bytes()));
        let deep = "**/a/".repeat(200);
        assert!(!IgnorePatterns::parse(deep.as_bytes()).matches("a/b/".repeat(199).as_bytes()));
    }
}
