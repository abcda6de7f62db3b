//! Patterns of paths that stay out, in the syntax of gitignore(5).
//!
//! A line is a pattern. `#` begins a comment, `!` takes a path back, a slash at the end means folders, a slash
//! elsewhere ties the pattern to the root. `*` and `?` represent anything but a slash, `[a-z]` and `[!a-z]` for one
//! sign, `**` for folders, and a backslash takes a sign's meaning away. A path below an ignored folder can't be taken
//! back, as with git. Invariant: on ASCII patterns the answer is that of `git check-ignore`, which a test asks.

/// The most patterns that are read.
const MOST: usize = 1_000;

/// Patterns, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnorePatterns(Vec<IgnorePattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnorePattern {
    /// The parts between slashes.
    parts: Vec<PatternPart>,
    takes_back: bool,
    folders_only: bool,
}

/// The pattern of one part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    /// `**`: any number of parts.
    Folders,
    /// A name.
    Name(Vec<PatternSign>),
}

/// The pattern of a name's signs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternSign {
    /// `*`: any number of them.
    Star,
    /// `?`: any one.
    Any,
    /// This one.
    Exactly(u8),
    /// One of these ranges, or none of them.
    OneOf { ranges: Vec<(u8, u8)>, negated: bool },
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
        let mut parts: Vec<PatternPart> = Vec::new();
        if !is_tied {
            parts.push(PatternPart::Folders);
        }
        let names = pattern_signs(line)?;
        let is_one = names.len() == 1;
        parts.extend(names.into_iter().map(|signs| {
            let is_folders = signs.len() > 1 && signs.iter().all(|sign| *sign == PatternSign::Star);
            if is_folders { PatternPart::Folders } else { PatternPart::Name(signs) }
        }));
        // `a/**` is what is in `a`, not `a` itself.
        if !is_one && parts.last() == Some(&PatternPart::Folders) {
            parts.push(PatternPart::Name(vec![PatternSign::Star]));
        }
        (!line.is_empty()).then_some(Self { parts, takes_back, folders_only })
    }

    fn matches(&self, path: &[&[u8]], is_folder: bool) -> bool {
        (is_folder || !self.folders_only) && parts_match(&self.parts, path)
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

/// The signs of each part. `None` if the pattern can match nothing: a class that never ends, a backslash at the end. A
/// slash within a class ends no part, and represents nothing: no class matches a slash. Behind a backslash it is a
/// slash.
fn pattern_signs(pattern: &[u8]) -> Option<Vec<Vec<PatternSign>>> {
    let mut found = Vec::new();
    let mut name = Vec::new();
    let mut rest = pattern;
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        name.push(match byte {
            b'*' => PatternSign::Star,
            b'?' => PatternSign::Any,
            b'[' => {
                let (class, more) = pattern_class(rest)?;
                rest = more;
                class
            }
            b'\\' => {
                let (&escaped, more) = rest.split_first()?;
                rest = more;
                PatternSign::Exactly(escaped)
            }
            other => PatternSign::Exactly(other),
        });
        if name.last() == Some(&PatternSign::Exactly(b'/')) {
            name.pop();
            found.push(std::mem::take(&mut name));
        }
    }
    found.push(name);
    Some(found)
}

/// The class behind `[`, and the rest behind its `]`.
fn pattern_class(text: &[u8]) -> Option<(PatternSign, &[u8])> {
    let (negated, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    loop {
        let (&byte, more) = rest.split_first()?;
        // A bracket that comes first means itself.
        if byte == b']' && !ranges.is_empty() {
            return Some((PatternSign::OneOf { ranges, negated }, more));
        }
        if byte == b'['
            && let Some(named) = more.strip_prefix(b":")
        {
            let end = named.windows(2).position(|pair| pair == b":]")?;
            ranges.extend(named_class(named.get(..end)?)?);
            rest = named.get(end.saturating_add(2)..)?;
            continue;
        }
        let (first, more) =
            if byte == b'\\' { more.split_first().map(|(byte, more)| (*byte, more))? } else { (byte, more) };
        rest = more;
        if let Some(after) = rest.strip_prefix(b"-")
            && after.first().is_some_and(|&byte| byte != b']')
        {
            let (&byte, more) = after.split_first()?;
            let (last, more) =
                if byte == b'\\' { more.split_first().map(|(byte, more)| (*byte, more))? } else { (byte, more) };
            rest = more;
            ranges.push((first, last));
        } else {
            ranges.push((first, first));
        }
    }
}

/// The ranges of `[:alpha:]` and its like. `None` for a name that isn't known, with which a pattern matches nothing.
fn named_class(name: &[u8]) -> Option<Vec<(u8, u8)>> {
    Some(match name {
        b"alnum" => vec![(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => vec![(b'A', b'Z'), (b'a', b'z')],
        b"blank" => vec![(b' ', b' '), (b'\t', b'\t')],
        b"cntrl" => vec![(0, 31), (127, 127)],
        b"digit" => vec![(b'0', b'9')],
        b"graph" => vec![(33, 126)],
        b"lower" => vec![(b'a', b'z')],
        b"print" => vec![(32, 126)],
        b"punct" => vec![(33, 47), (58, 64), (91, 96), (123, 126)],
        b"space" => vec![(9, 13), (32, 32)],
        b"upper" => vec![(b'A', b'Z')],
        b"xdigit" => vec![(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    })
}

impl PatternSign {
    fn matches(&self, byte: u8) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Exactly(wanted) => *wanted == byte,
            Self::OneOf { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&byte)) != *negated
            }
        }
    }
}

/// Whether the parts of a pattern match all parts of a path. `reached` says which parts of the pattern may begin here,
/// so that any number of `**` takes a time that grows with the product of both lengths alone.
fn parts_match(pattern: &[PatternPart], path: &[&[u8]]) -> bool {
    let mut reached = vec![false; pattern.len().saturating_add(1)];
    let open = |reached: &mut Vec<bool>| {
        for (at, part) in pattern.iter().enumerate() {
            if reached.get(at) == Some(&true)
                && *part == PatternPart::Folders
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
            let to = match wanted {
                PatternPart::Folders => Some(at),
                PatternPart::Name(signs) => name_matches(signs, part).then_some(at.saturating_add(1)),
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

/// Whether signs match a name. The last star is tried again from the next letter, never an earlier one.
fn name_matches(signs: &[PatternSign], name: &[u8]) -> bool {
    let (mut at, mut place) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = name.get(place) {
        match signs.get(at) {
            Some(PatternSign::Star) => {
                star = Some((at, place));
                at = at.saturating_add(1);
            }
            Some(sign) if sign.matches(byte) => {
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
    signs.get(at..).unwrap_or_default().iter().all(|sign| *sign == PatternSign::Star)
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
    fn a_pattern_that_is_written_to_be_slow_is_not() {
        let pattern = format!("{}b", "*a".repeat(500));
        assert!(!IgnorePatterns::parse(pattern.as_bytes()).matches("a".repeat(5_000).as_bytes()));
        let deep = "**/a/".repeat(200);
        assert!(!IgnorePatterns::parse(deep.as_bytes()).matches("a/b/".repeat(199).as_bytes()));
    }
}
