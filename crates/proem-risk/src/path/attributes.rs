//! The `.gitattributes` of generated, vendored, documentation and binary files.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::RepoPath;
use super::glob::PathPattern;

/// The most patterns that are kept. Those added after them are left out. Large repositories have a few hundred.
const MOST_PATTERNS: usize = 5_000;

/// The longest line that git reads (`ATTR_MAX_LINE_LENGTH`).
const LONGEST_LINE: usize = 2_048;

/// The attributes of a repository that matter here, in the order in which git applies them.
///
/// They come from the base of an assessed change, never from the change. Known are
/// `linguist-generated`, `linguist-vendored` and `linguist-documentation` (GitHub's Linguist),
/// `gitlab-generated` (GitLab), `generated`, and `binary`, the macro that git has built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitAttributes {
    /// Sorted by the folder they are for, outer folders first. In one folder in their order.
    rules: Vec<AttributeLine>,
    /// The meaning of the repository's macros.
    macros: BTreeMap<String, Vec<AttributeSetting>>,
}

/// A line: for which paths, and what of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AttributeLine {
    folder: Vec<u8>,
    glob: PathPattern,
    settings: Vec<AttributeSetting>,
}

/// A line's setting of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AttributeSetting {
    name: String,
    state: AttributeState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeState {
    /// `attr` or `attr=value`.
    Set,
    /// `-attr` or `attr=false`.
    Unset,
    /// `!attr`: as if no line had named it.
    Unspecified,
}

/// The attributes of a path. `None` for an attribute that no line decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PathAttributes {
    pub(super) generated: Option<bool>,
    pub(super) vendored: Option<bool>,
    pub(super) documentation: Option<bool>,
    pub(super) binary: Option<bool>,
}

impl GitAttributes {
    /// Adds a `.gitattributes` file. `folder` is where it is, empty at the root. Lines that can't be read are left out,
    /// as git does.
    pub fn add(&mut self, folder: &RepoPath, text: &[u8]) {
        let folder = folder.as_bytes().strip_suffix(b"/").unwrap_or(folder.as_bytes());
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line in text.split(|&byte| byte == b'\n').filter(|line| line.len() < LONGEST_LINE) {
            if self.rules.len().saturating_add(self.macros.len()) >= MOST_PATTERNS {
                break;
            }
            self.add_line(folder, line);
        }
        self.rules.sort_by_key(|rule| depth(&rule.folder));
    }

    fn add_line(&mut self, folder: &[u8], line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return;
        }
        let quoted = line.strip_prefix(b"\"").and_then(unquote_c);
        let (pattern, rest) = match quoted {
            Some((pattern, rest)) => (pattern, rest),
            None => {
                let end = line.iter().position(|&byte| is_blank_byte(byte)).unwrap_or(line.len());
                (line.get(..end).unwrap_or_default().to_vec(), line.get(end..).unwrap_or_default())
            }
        };
        if pattern == b"[attr]" || pattern.starts_with(b"[attr]") {
            // Only the file at the root may define macros.
            if folder.is_empty() {
                self.add_macro(pattern.get(6..).unwrap_or_default(), rest);
            }
            return;
        }
        // git forbids negative patterns, and a pattern for folders alone matches no file.
        if pattern.starts_with(b"!") || pattern.ends_with(b"/") {
            return;
        }
        let (Some(glob), Some(settings)) = (PathPattern::new(&pattern), attribute_settings(rest)) else { return };
        if !settings.is_empty() {
            self.rules.push(AttributeLine { folder: folder.to_vec(), glob, settings });
        }
    }

    fn add_macro(&mut self, name: &[u8], rest: &[u8]) {
        let rest = rest.trim_ascii_start();
        let end = rest.iter().position(|&byte| is_blank_byte(byte)).unwrap_or(rest.len());
        let (name, rest) = match name {
            [] => (rest.get(..end).unwrap_or_default(), rest.get(end..).unwrap_or_default()),
            name => (name, rest),
        };
        if let (Some(name), Some(settings)) = (attribute_name(name), attribute_settings(rest)) {
            self.macros.insert(name, settings);
        }
    }

    /// The attributes of a path.
    pub(super) fn of(&self, path: &RepoPath) -> PathAttributes {
        let mut states: BTreeMap<&str, AttributeState> = BTreeMap::new();
        for rule in self.rules.iter().rev() {
            let Some(below) = path_below_folder(path.as_bytes(), &rule.folder) else { continue };
            if rule.glob.matches(below) {
                self.decide(&rule.settings, &mut states);
            }
        }
        let of = |name| match states.get(name) {
            Some(AttributeState::Set) => Some(true),
            Some(AttributeState::Unset) => Some(false),
            Some(AttributeState::Unspecified) | None => None,
        };
        PathAttributes {
            generated: of("linguist-generated").or_else(|| of("gitlab-generated")).or_else(|| of("generated")),
            vendored: of("linguist-vendored"),
            documentation: of("linguist-documentation"),
            binary: of("binary"),
        }
    }

    /// Takes over what no stronger line has decided. A macro that becomes set brings what it represents.
    fn decide<'a>(&'a self, settings: &'a [AttributeSetting], states: &mut BTreeMap<&'a str, AttributeState>) {
        let mut waiting: Vec<&AttributeSetting> = settings.iter().collect();
        while let Some(setting) = waiting.pop() {
            if states.contains_key(setting.name.as_str()) {
                continue;
            }
            states.insert(&setting.name, setting.state);
            if setting.state == AttributeState::Set {
                waiting.extend(self.macros.get(&setting.name).into_iter().flatten());
            }
        }
    }
}

fn depth(folder: &[u8]) -> usize {
    if folder.is_empty() { 0 } else { folder.split(|&byte| byte == b'/').count() }
}

/// The part of a path below a folder.
fn path_below_folder<'p>(path: &'p [u8], folder: &[u8]) -> Option<&'p [u8]> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix(b"/") }
}

const fn is_blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The settings of a line. `None` if one has no proper name, for which git leaves out the line.
fn attribute_settings(text: &[u8]) -> Option<Vec<AttributeSetting>> {
    text.split(|&byte| is_blank_byte(byte)).filter(|word| !word.is_empty()).map(attribute_setting).collect()
}

fn attribute_setting(word: &[u8]) -> Option<AttributeSetting> {
    let (name, value) = match word.iter().position(|&byte| byte == b'=') {
        Some(at) => (word.get(..at)?, word.get(at.saturating_add(1)..)),
        None => (word, None),
    };
    let (name, state) = match name.split_first()? {
        (b'-', name) => (name, AttributeState::Unset),
        (b'!', name) => (name, AttributeState::Unspecified),
        _ if value == Some(b"false") => (name, AttributeState::Unset),
        _ => (name, AttributeState::Set),
    };
    Some(AttributeSetting { name: attribute_name(name)?, state })
}

/// A proper name of an attribute.
fn attribute_name(name: &[u8]) -> Option<String> {
    let is_proper = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.starts_with(b"-") || !name.iter().all(is_proper) {
        return None;
    }
    String::from_utf8(name.to_vec()).ok()
}

/// The text in quotes as C writes it, behind the opening one, and the rest behind the closing one.
#[must_use]
pub fn unquote_c(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut plain = Vec::new();
    let mut rest = text;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((plain, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                plain.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    b'\\' | b'"' => escaped,
                    b'0'..=b'3' => {
                        let [second, third, after @ ..] = rest else { return None };
                        rest = after;
                        parse_octal([escaped, *second, *third])?
                    }
                    _ => return None,
                });
            }
            other => plain.push(other),
        }
    }
}

fn parse_octal(digits: [u8; 3]) -> Option<u8> {
    let digits = core::str::from_utf8(&digits).ok()?;
    u8::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(files: &[(&str, &str)]) -> GitAttributes {
        let mut attributes = GitAttributes::default();
        for (folder, text) in files {
            attributes.add(&RepoPath::new(*folder), text.as_bytes());
        }
        attributes
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], path: &str, generated: Option<bool>) {
        assert_eq!(read(files).of(&RepoPath::new(path)).generated, generated, "{files:?} {path}");
    }

    #[test]
    fn the_ways_to_set_an_attribute() {
        let of = |line| read(&[("", line)]).of(&RepoPath::new("a.c"));
        assert_eq!(of("*.c linguist-generated").generated, Some(true));
        assert_eq!(of("*.c linguist-generated=true").generated, Some(true));
        assert_eq!(of("*.c linguist-generated=false").generated, Some(false));
        assert_eq!(of("*.c -linguist-generated").generated, Some(false));
        assert_eq!(of("*.c !linguist-generated").generated, None);
        assert_eq!(of("*.c gitlab-generated").generated, Some(true));
        assert_eq!(of("*.c generated text\r").generated, Some(true));
        assert_eq!(of("*.c\tlinguist-vendored eol=lf").vendored, Some(true));
        assert_eq!(of("*.c linguist-documentation").documentation, Some(true));
        assert_eq!(of("*.c binary").binary, Some(true));
        assert_eq!(of("*.c"), PathAttributes::default());
        assert_eq!(of(""), PathAttributes::default());
    }

    #[test]
    fn later_lines_and_deeper_files_win() {
        check(&[("", "*.c generated\na.c -generated")], "a.c", Some(false));
        check(&[("", "a.c -generated\n*.c generated")], "a.c", Some(true));
        check(&[("", "*.c generated"), ("x", "*.c -generated")], "x/a.c", Some(false));
        check(&[("x", "*.c -generated"), ("", "*.c generated")], "x/a.c", Some(false));
        check(&[("x", "*.c -generated"), ("", "*.c generated")], "xy/a.c", Some(true));
        check(&[("", "*.c generated\na.c !generated")], "a.c", None);
        check(&[("", "*.c generated"), ("x/y", "a.c -generated"), ("x", "a.c generated")], "x/y/a.c", Some(false));
    }

    #[test]
    fn patterns_are_anchored_in_their_folder() {
        check(&[("x", "/a.c generated")], "x/a.c", Some(true));
        check(&[("x", "/a.c generated")], "x/y/a.c", None);
        check(&[("x", "/a.c generated")], "a.c", None);
        check(&[("", "gen/** generated")], "gen/x/y.c", Some(true));
        check(&[("", "gen/ generated")], "gen/y.c", None);
        check(&[("", "!a.c generated")], "a.c", None);
    }

    #[test]
    fn macros_come_from_the_root_alone() {
        let lines = "[attr]made linguist-generated -diff\n*.pb made";
        check(&[("", lines)], "a.pb", Some(true));
        check(&[("x", lines)], "x/a.pb", None);
        check(&[("", "[attr]made linguist-generated\n*.pb -made")], "a.pb", None);
        check(&[("", "[attr]made linguist-generated\n*.pb made -linguist-generated")], "a.pb", Some(false));
        check(&[("", "[attr]a b\n[attr]b a generated\n*.pb a")], "x.pb", Some(true));
        check(&[("", "[attr] made linguist-generated\n*.pb made")], "a.pb", Some(true));
    }

    #[test]
    fn quotes_comments_and_unreadable_lines() {
        check(&[("", "\"a b.c\" generated")], "a b.c", Some(true));
        check(&[("", r#""\303\251\t.c" generated"#)], "é\t.c", Some(true));
        check(&[("", "\"a.c generated")], "a.c", None);
        check(&[("", "# *.c generated")], "a.c", None);
        check(&[("", "*.c generated --x")], "a.c", None);
        check(&[("", &("*.c generated ".to_owned() + &"x".repeat(3000)))], "a.c", None);
        check(&[("", "\u{feff}*.c generated")], "a.c", Some(true));
    }

    #[test]
    fn patterns_beyond_the_most_are_left_out() {
        let many = "x generated\n".repeat(MOST_PATTERNS) + "*.c generated";
        check(&[("", &many)], "a.c", None);
        check(&[("", &many)], "x", Some(true));
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_added(text in proptest::collection::vec(any::<u8>(), 0..300), path in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut attributes = GitAttributes::default();
            attributes.add(&RepoPath::new("a"), &text);
            attributes.add(&RepoPath::new(""), &text);
            attributes.of(&RepoPath::new(path));
        }
    }
}
