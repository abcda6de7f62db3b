//! The patterns of gitattributes(5) and gitignore(5) over bytes.
//!
//! The time is proportional to the pattern's length times the path's at worst: a star that fails is
//! only ever retried at the next place, inside a part as between parts, and never together with the
//! stars before it.

use alloc::vec;
use alloc::vec::Vec;

/// A pattern for whole paths or for file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    parts: Vec<GlobPart>,
    /// Whether it has a `/` and so is for whole paths.
    is_path: bool,
    /// The bytes that everything it matches ends with.
    tail: Vec<u8>,
}

/// The part between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobPart {
    /// `**`: any number of whole parts.
    Parts,
    /// Anything else: one part.
    Tokens(Vec<GlobToken>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobToken {
    Literal(u8),
    /// `?`
    One,
    /// `*`
    Many,
    /// `[…]`
    Class {
        negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

impl GlobToken {
    const fn literal(&self) -> Option<u8> {
        if let Self::Literal(byte) = self { Some(*byte) } else { None }
    }
}

impl PathPattern {
    /// Reads a pattern. `None` if it can match nothing: an open bracket, a backslash at its end, a part without
    /// characters.
    pub fn new(pattern: &[u8]) -> Option<Self> {
        let is_path = pattern.contains(&b'/');
        let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
        let mut parts = vec![];
        for tokens in read_glob(pattern)? {
            let is_any = tokens.len() > 1 && tokens.iter().all(|token| *token == GlobToken::Many);
            match tokens {
                tokens if tokens.is_empty() => return None,
                _ if is_any && is_path => parts.push(GlobPart::Parts),
                tokens => parts.push(GlobPart::Tokens(tokens)),
            }
        }
        // `a/**` is what is in `a`, and not `a`.
        if parts.last() == Some(&GlobPart::Parts) {
            parts.push(GlobPart::Tokens(vec![GlobToken::Many]));
        }
        let tail = literal_tail(parts.last()?);
        Some(Self { parts, is_path, tail })
    }

    /// The literal bytes that everything it matches ends with.
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// The rarest part of a path that it spells out, as far as its length tells. `None` for a pattern of names alone,
    /// or one that spells none.
    pub(super) fn spelled_part(&self) -> Option<Vec<u8>> {
        let spelled = |part: &GlobPart| match part {
            GlobPart::Tokens(tokens) => tokens.iter().map(GlobToken::literal).collect::<Option<Vec<u8>>>(),
            GlobPart::Parts => None,
        };
        self.parts.iter().filter(|_| self.is_path).filter_map(spelled).max_by_key(Vec::len)
    }

    /// Whether the first byte of a file's name lets it match. Cheap, to pass over most patterns.
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        match self.parts.first() {
            Some(GlobPart::Tokens(tokens)) if !self.is_path => match tokens.first() {
                Some(GlobToken::Literal(byte)) => name.first() == Some(byte),
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether it matches a path: the whole of it if the pattern has a `/`, else its last part.
    pub fn matches(&self, path: &[u8]) -> bool {
        if !path.ends_with(&self.tail) {
            return false;
        }
        if self.is_path {
            return self.matches_path(path);
        }
        let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at.saturating_add(1));
        match self.parts.as_slice() {
            [GlobPart::Tokens(tokens)] => matches_part(tokens, path.get(name..).unwrap_or_default()),
            _ => false,
        }
    }

    fn matches_path(&self, path: &[u8]) -> bool {
        let mut rest = Some(path);
        let mut at = 0_usize;
        // The place to go on after a failure: behind the last `**`, one part later than the time before.
        let mut retry: Option<(usize, &[u8])> = None;
        loop {
            let (head, tail) = match rest {
                Some(rest) => split_first_part(rest),
                None if at == self.parts.len() => return true,
                None => return false,
            };
            match self.parts.get(at) {
                Some(GlobPart::Parts) => {
                    at = at.saturating_add(1);
                    retry = rest.map(|rest| (at, rest));
                    continue;
                }
                Some(GlobPart::Tokens(tokens)) if matches_part(tokens, head) => {
                    (rest, at) = (tail, at.saturating_add(1));
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry else { return false };
            let (_, Some(next)) = split_first_part(from) else { return false };
            retry = Some((after, next));
            (rest, at) = (Some(next), after);
        }
    }
}

/// A path's first part and what follows its slash.
fn split_first_part(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = path.iter().position(|&byte| byte == b'/');
    let head = end.and_then(|end| path.get(..end)).unwrap_or(path);
    (head, end.and_then(|end| path.get(end.saturating_add(1)..)))
}

fn matches_part(tokens: &[GlobToken], text: &[u8]) -> bool {
    let (mut token, mut byte) = (0_usize, 0_usize);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (tokens.get(token), text.get(byte)) {
            (None, None) => return true,
            (Some(GlobToken::Many), _) => {
                token = token.saturating_add(1);
                retry = Some((token, byte));
                continue;
            }
            (Some(one), Some(&found)) if one.matches(found) => {
                (token, byte) = (token.saturating_add(1), byte.saturating_add(1));
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                let next = from.saturating_add(1);
                retry = Some((after, next));
                (token, byte) = (after, next);
            }
            _ => return false,
        }
    }
}

impl GlobToken {
    fn matches(&self, byte: u8) -> bool {
        match self {
            Self::Literal(literal) => *literal == byte,
            Self::One => true,
            Self::Many => false,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&byte)) != *negated
            }
        }
    }
}

/// The literal bytes at the end of a part.
fn literal_tail(part: &GlobPart) -> Vec<u8> {
    let GlobPart::Tokens(tokens) = part else { return vec![] };
    let mut tail: Vec<u8> = tokens.iter().rev().map_while(GlobToken::literal).collect();
    tail.reverse();
    tail
}

/// The tokens of every part.
fn read_glob(pattern: &[u8]) -> Option<Vec<Vec<GlobToken>>> {
    let mut parts = vec![];
    let mut tokens = vec![];
    let mut rest = pattern;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let token = match byte {
            b'?' => GlobToken::One,
            b'*' => GlobToken::Many,
            b'[' => {
                let (class, after) = read_class(rest)?;
                rest = after;
                class
            }
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                GlobToken::Literal(escaped)
            }
            other => GlobToken::Literal(other),
        };
        if token == GlobToken::Literal(b'/') {
            parts.push(core::mem::take(&mut tokens));
        } else {
            tokens.push(token);
        }
    }
    parts.push(tokens);
    Some(parts)
}

/// A class behind its opening bracket, and what follows the closing one.
fn read_class(text: &[u8]) -> Option<(GlobToken, &[u8])> {
    let (negated, mut rest) = match text.split_first()? {
        (b'!' | b'^', rest) => (true, rest),
        _ => (false, text),
    };
    let mut ranges = vec![];
    let mut is_first = true;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b']' if !is_first => return Some((GlobToken::Class { negated, ranges }, rest)),
            b'[' if rest.starts_with(b":") => {
                let end = rest.windows(2).position(|two| two == b":]")?;
                ranges.extend_from_slice(posix_class(rest.get(1..end)?)?);
                rest = rest.get(end..)?.get(2..)?;
            }
            _ => {
                let first = if byte == b'\\' { take_byte(&mut rest)? } else { byte };
                let last = match rest {
                    [b'-', last, ..] if *last != b']' => {
                        rest = rest.get(1..)?;
                        match take_byte(&mut rest)? {
                            b'\\' => take_byte(&mut rest)?,
                            last => last,
                        }
                    }
                    _ => first,
                };
                ranges.push((first, last));
            }
        }
        is_first = false;
    }
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

/// The classes of POSIX, in ASCII.
fn posix_class(name: &[u8]) -> Option<&'static [(u8, u8)]> {
    Some(match name {
        b"alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        b"blank" => &[(b' ', b' '), (b'\t', b'\t')],
        b"cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
        b"digit" => &[(b'0', b'9')],
        b"graph" => &[(0x21, 0x7e)],
        b"lower" => &[(b'a', b'z')],
        b"print" => &[(0x20, 0x7e)],
        b"punct" => &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)],
        b"space" => &[(b' ', b' '), (b'\t', b'\r')],
        b"upper" => &[(b'A', b'Z')],
        b"xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        let matches = PathPattern::new(pattern.as_bytes()).is_some_and(|glob| glob.matches(path.as_bytes()));
        assert_eq!(matches, expected, "{pattern} {path}");
    }

    #[test]
    fn a_pattern_without_a_slash_is_for_names() {
        check("*.c", "a.c", true);
        check("*.c", "x/y/a.c", true);
        check("*.c", "a.cc", false);
        check("a?c", "x/abc", true);
        check("a?c", "x/ac", false);
        check("**", "x/y", true);
        check("a**c", "x/abbc", true);
        check("*a*b*", "x/xaxbx", true);
        check("*a*b*", "x/xbxax", false);
        check("", "a", false);
    }

    #[test]
    fn a_pattern_with_a_slash_is_for_whole_paths() {
        check("/a.c", "a.c", true);
        check("/a.c", "x/a.c", false);
        check("x/*.c", "x/a.c", true);
        check("x/*.c", "x/y/a.c", false);
        check("x/*.c", "w/x/a.c", false);
        check("x/", "x/a", false);
        check("x//a", "x/a", false);
    }

    #[test]
    fn two_stars_are_any_number_of_parts() {
        check("**/foo", "foo", true);
        check("**/foo", "a/b/foo", true);
        check("**/foo", "a/xfoo", false);
        check("a/**", "a/b", true);
        check("a/**", "a/b/c", true);
        check("a/**", "a", false);
        check("a/**/b", "a/b", true);
        check("a/**/b", "a/x/y/b", true);
        check("a/**/b", "a/xb", false);
        check("a/**/b/**/c", "a/b/x/b/y/c", true);
        check("a/***/b", "a/x/b", true);
        check("a/b**/c", "a/bx/c", true);
        check("a/b**/c", "a/bx/y/c", false);
        check("**/a/*.c", "a/b/a/x.c", true);
        check("/**", "x", true);
    }

    #[test]
    fn classes_and_escapes() {
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[^a-c]x", "dx", true);
        check("[]x]", "]", true);
        check("[a\\]]", "]", true);
        check("[a-]", "-", true);
        check("[[:digit:]_]x", "7x", true);
        check("[[:digit:]_]x", "ax", false);
        check("[[:nothing:]]x", "ax", false);
        check("[ab", "[ab", false);
        check("\\*.c", "*.c", true);
        check("\\*.c", "a.c", false);
        check("a\\", "a", false);
        check("a\\/b", "a/b", true);
        check("/[!x]", "a/b", false);
    }

    /// The meaning of a pattern, as simply and slowly as can be.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', b'*', b'/', rest @ ..], _) => {
                naive(rest, text)
                    || text.iter().position(|&byte| byte == b'/').is_some_and(|at| naive(pattern, &text[at + 1..]))
            }
            ([b'*', rest @ ..], _) => {
                naive(rest, text) || matches!(text, [byte, after @ ..] if *byte != b'/' && naive(pattern, after))
            }
            ([a, rest @ ..], [b, after @ ..]) => a == b && naive(rest, after),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn it_means_what_the_slow_definition_says(
            parts in proptest::collection::vec("[ab]{1,2}|[ab]?\\*[ab]?|\\*\\*", 1..6), path in "[ab]{1,3}(/[ab]{1,3}){0,5}",
        ) {
            let mut parts = parts;
            parts.push("*a".into());
            let pattern = parts.join("/");
            let glob = PathPattern::new(pattern.as_bytes()).unwrap();
            prop_assert_eq!(glob.matches(path.as_bytes()), naive(pattern.as_bytes(), path.as_bytes()), "{}", pattern);
        }

        #[test]
        fn any_bytes_are_a_pattern_or_none(
            pattern in proptest::collection::vec(any::<u8>(), 0..60), path in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            if let Some(glob) = PathPattern::new(&pattern) {
                glob.matches(&path);
            }
        }
    }

    #[test]
    fn hostile_patterns_take_no_exponential_time() {
        // Backtracking through every star would not end within the life of the machine.
        let stars = "*a".repeat(500) + "b";
        assert!(!PathPattern::new(stars.as_bytes()).unwrap().matches("a".repeat(2000).as_bytes()));
        let parts = "**/a/".repeat(200) + "b";
        assert!(!PathPattern::new(parts.as_bytes()).unwrap().matches(("a/".repeat(1000) + "c").as_bytes()));
        let both = "**/*a*a/".repeat(100) + "*a*b*c";
        assert!(!PathPattern::new(both.as_bytes()).unwrap().matches(("aaa/".repeat(500) + "aaac").as_bytes()));
    }
}
