//! The rules of `data/paths.tsv`, in a form in which a path looks up the few that concern it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::glob::PathPattern;
use super::{FileRole, Framework, RepoPath, Sensitive};
use crate::{Error, ErrorKind};

/// The rules by which paths are classified. `data/paths.tsv` says what they are and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRules {
    rules: Vec<PathRule>,
    /// By extension, in lower case.
    extensions: BTreeMap<Vec<u8>, Vec<usize>>,
    /// By the whole name.
    names: BTreeMap<Vec<u8>, Vec<usize>>,
    /// By the whole name of a folder above.
    folders: NameTable<usize>,
    /// By a word of the path.
    words: BTreeMap<String, Vec<usize>>,
    /// The same words by their first byte, to pass over paths that have none of them quickly.
    beginnings: BTreeMap<u8, Vec<Vec<u8>>>,
    globs: Globs,
    /// Of a framework the packages that files import from it. Of a convention without one there is no entry.
    packages: BTreeMap<String, Vec<String>>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathRule {
    says: PathClaim,
    /// The extensions that it is for, in lower case. Empty for all.
    only: Vec<Vec<u8>>,
    /// Words that take it back.
    except: Vec<String>,
}

/// A line's claim about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathClaim {
    Language(String, FileRole),
    Role(FileRole),
    Sensitive(Sensitive),
    /// Production is not concerned, whatever other rules say.
    Harmless,
    Framework(String),
}

/// Values by a whole name. Most parts of a path are called otherwise, which length and first byte show without a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NameTable<V> {
    by_name: BTreeMap<Vec<u8>, Vec<V>>,
    /// By the first byte of names, how long those are that begin with it: a bit for each length, the last for all above.
    lengths: [u64; 256],
}

impl<V> Default for NameTable<V> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), lengths: [0; 256] }
    }
}

impl<V> NameTable<V> {
    fn add(&mut self, name: &[u8], value: V) {
        if let Some(lengths) = name.first().and_then(|first| self.lengths.get_mut(usize::from(*first))) {
            *lengths |= length_bit(name);
        }
        self.by_name.entry(name.to_vec()).or_default().push(value);
    }

    fn of(&self, name: &[u8]) -> &[V] {
        let lengths = name.first().and_then(|first| self.lengths.get(usize::from(*first)));
        if lengths.is_none_or(|lengths| lengths & length_bit(name) == 0) {
            return &[];
        }
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

const fn length_bit(name: &[u8]) -> u64 {
    1 << if name.len() < 63 { name.len() } else { 63 }
}

/// Patterns, by what a path has to have so that they can match it: a part that they spell out, else the extension that
/// they end with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Globs {
    by_part: NameTable<(PathPattern, usize)>,
    by_extension: BTreeMap<Vec<u8>, Vec<(PathPattern, usize)>>,
    others: Vec<(PathPattern, usize)>,
}

impl PathRules {
    /// The rules that Proem ships.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreadable`] if the shipped file is damaged, which a test excludes.
    pub fn shipped() -> Result<Self, Error> {
        Self::read(include_str!("../../data/paths.tsv"))
    }

    fn read(text: &str) -> Result<Self, Error> {
        let mut rules = Self {
            rules: vec![],
            extensions: BTreeMap::new(),
            names: BTreeMap::new(),
            folders: NameTable::default(),
            words: BTreeMap::new(),
            beginnings: BTreeMap::new(),
            globs: Globs::default(),
            packages: BTreeMap::new(),
        };
        for (line, number) in text.lines().zip(1_usize..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            rules.add(line).ok_or_else(|| {
                let message = format!(
                    "line {number} of the path rules is not a rule; write what, value, how, patterns and reason, \
                     separated by tabs"
                );
                Error::new(ErrorKind::Unreadable, message)
            })?;
        }
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [what, value, how, patterns, reason] = columns.as_slice() else { return None };
        if reason.is_empty() {
            return None;
        }
        let (value, packages) = value.split_once('=').unwrap_or((value, ""));
        if !packages.is_empty() {
            let packages = packages.split(',').map(String::from).collect();
            self.packages.insert(value.into(), packages);
        }
        let (patterns, only) = patterns.split_once('|').unwrap_or((patterns, ""));
        let only = only.split(',').filter(|extension| !extension.is_empty()).map(|only| only.as_bytes().to_vec());
        let (except, patterns): (Vec<&str>, Vec<&str>) =
            patterns.split(' ').partition(|pattern| *how == "word" && pattern.starts_with('-'));
        let except = except.iter().filter_map(|word| word.strip_prefix('-')).map(String::from).collect();
        let number = self.rules.len();
        self.rules.push(PathRule { says: path_claim(what, value)?, only: only.collect(), except });
        patterns.iter().try_for_each(|pattern| self.add_pattern(how, pattern, number))
    }

    fn add_pattern(&mut self, how: &str, pattern: &str, rule: usize) -> Option<()> {
        let bytes = pattern.as_bytes();
        let is_literal = !bytes.is_empty() && !bytes.iter().any(|byte| b"*?[\\/".contains(byte));
        match how {
            "ext" if is_literal => self.extensions.entry(bytes.to_ascii_lowercase()).or_default().push(rule),
            "folder" if is_literal => self.folders.add(bytes, rule),
            "word" if is_literal => {
                self.words.entry(pattern.into()).or_default().push(rule);
                self.beginnings.entry(*bytes.first()?).or_default().push(bytes.to_vec());
            }
            "name" if is_literal => self.names.entry(bytes.to_vec()).or_default().push(rule),
            "name" if !bytes.contains(&b'/') => self.globs.add(PathPattern::new(bytes)?, rule),
            "path" if bytes.contains(&b'/') => self.globs.add(PathPattern::new(bytes)?, rule),
            // A path without a slash is a file at the root.
            "path" if is_literal => self.globs.add(PathPattern::new(format!("/{pattern}").as_bytes())?, rule),
            _ => return None,
        }
        Some(())
    }

    /// The packages that a framework is imported by. None for what is no more than a convention of names.
    #[must_use]
    pub fn packages(&self, framework: &Framework) -> &[String] {
        self.packages.get(&framework.0).map_or(&[], Vec::as_slice)
    }

    /// The packages of all frameworks, each once.
    #[must_use]
    pub fn all_packages(&self) -> BTreeSet<&str> {
        self.packages.values().flatten().map(String::as_str).collect()
    }

    /// The rules that match a path, but for those by words.
    pub(super) fn of(&self, path: &RepoPath) -> Matches<'_> {
        let name = path.name();
        let extension = extension(name).unwrap_or_default();
        let lower = extension.to_ascii_lowercase();
        let mut found: Vec<usize> = vec![];
        found.extend(self.extensions.get(&lower).into_iter().flatten());
        found.extend(self.names.get(name).into_iter().flatten());
        for folder in path.folder().split(|&byte| byte == b'/') {
            found.extend(self.folders.of(folder));
        }
        self.globs.find(path.as_bytes(), extension, &mut found);
        found.retain(|&rule| self.rules.get(rule).is_some_and(|rule| rule.is_for(&lower)));
        found.sort_unstable();
        Matches { rules: self, found }
    }

    /// Whether a path could have a word of the rules: it has its letters somewhere, or letters beyond ASCII.
    fn may_have_words(&self, path: &[u8]) -> bool {
        let lower = path.to_ascii_lowercase();
        let begins = |(at, byte): (usize, &u8)| {
            let mut words = self.beginnings.get(byte).into_iter().flatten();
            words.any(|word| lower.get(at..).is_some_and(|rest| rest.starts_with(word)))
        };
        !path.is_ascii() || lower.iter().enumerate().any(begins)
    }

    fn says<'r>(&'r self, found: &'r [usize]) -> impl DoubleEndedIterator<Item = &'r PathClaim> {
        found.iter().filter_map(|&rule| self.rules.get(rule)).map(|rule| &rule.says)
    }
}

impl PathRule {
    fn is_for(&self, extension: &[u8]) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == extension)
    }
}

fn path_claim(what: &str, value: &str) -> Option<PathClaim> {
    Some(match what {
        "code" => PathClaim::Language(value.into(), FileRole::Code),
        "data" => PathClaim::Language(value.into(), FileRole::Configuration),
        "prose" => PathClaim::Language(value.into(), FileRole::Documentation),
        "lock" => PathClaim::Role(FileRole::Lock),
        "vendored" => PathClaim::Role(FileRole::Vendored),
        "generated" => PathClaim::Role(FileRole::Generated),
        "asset" => PathClaim::Role(FileRole::Asset),
        "test" => PathClaim::Role(FileRole::Test),
        "documentation" => PathClaim::Role(FileRole::Documentation),
        "configuration" => PathClaim::Role(FileRole::Configuration),
        "security" => PathClaim::Sensitive(Sensitive::Security),
        "production" => PathClaim::Sensitive(Sensitive::Production),
        "harmless" => PathClaim::Harmless,
        "framework" => PathClaim::Framework(value.into()),
        _ => return None,
    })
}

/// The part behind the last dot of a name.
fn extension(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    name.get(dot.saturating_add(1)..)
}

impl Globs {
    fn add(&mut self, glob: PathPattern, rule: usize) {
        match (glob.spelled_part(), extension(glob.tail())) {
            (Some(part), _) => self.by_part.add(&part, (glob, rule)),
            (None, Some(extension)) => self.by_extension.entry(extension.to_vec()).or_default().push((glob, rule)),
            (None, None) => self.others.push((glob, rule)),
        }
    }

    fn find(&self, path: &[u8], extension: &[u8], found: &mut Vec<usize>) {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        // A part that a path has twice finds its patterns twice, which says no more than once.
        let by_part = path.split(|&byte| byte == b'/').flat_map(|part| self.by_part.of(part));
        let globs = self.by_extension.get(extension).into_iter().flatten().chain(&self.others);
        let globs = by_part.chain(globs.filter(|(glob, _)| glob.may_match(name)));
        found.extend(globs.filter(|(glob, _)| glob.matches(path)).map(|(_, rule)| *rule));
    }
}

/// The rules that match a path.
#[derive(Debug)]
pub(super) struct Matches<'r> {
    rules: &'r PathRules,
    /// In the order of the file.
    found: Vec<usize>,
}

impl<'r> Matches<'r> {
    fn says(&self) -> impl DoubleEndedIterator<Item = &PathClaim> {
        self.rules.says(&self.found)
    }

    /// The language: the last one, as names are behind extensions.
    pub(super) fn language(&self) -> Option<&str> {
        self.says()
            .rev()
            .find_map(|says| if let PathClaim::Language(name, _) = says { Some(name.as_str()) } else { None })
    }

    /// The first role that is not denied, else that of the language.
    pub(super) fn role(&self, is_denied: impl Fn(FileRole) -> bool) -> Option<FileRole> {
        let by_rule = self.says().find_map(|says| match says {
            PathClaim::Role(role) if !is_denied(*role) => Some(*role),
            _ => None,
        });
        let by_language = || {
            self.says().rev().find_map(|says| if let PathClaim::Language(_, role) = says { Some(*role) } else { None })
        };
        by_rule.or_else(by_language)
    }

    pub(super) fn framework(&self) -> Option<&str> {
        self.says().find_map(|says| if let PathClaim::Framework(name) = says { Some(name.as_str()) } else { None })
    }

    /// Why the path is sensitive, but for its words.
    pub(super) fn sensitive(&self) -> Option<Sensitive> {
        let is_harmless = self.says().any(|says| *says == PathClaim::Harmless);
        self.says().filter_map(claimed_sensitive).filter(|what| !is_harmless || *what != Sensitive::Production).min()
    }

    /// Why the words of the path make it sensitive.
    pub(super) fn sensitive_by_words(&self, path: &RepoPath) -> Option<Sensitive> {
        let rules: &'r PathRules = self.rules;
        if !rules.may_have_words(path.as_bytes()) {
            return None;
        }
        let words: Vec<String> = proem_text::search_words(&path.to_text()).collect();
        let matching = words.iter().filter_map(|word| rules.words.get(word)).flatten();
        let rules = matching.filter_map(|&rule| rules.rules.get(rule));
        let rules = rules.filter(|rule| !rule.except.iter().any(|except| words.contains(except)));
        rules.filter_map(|rule| claimed_sensitive(&rule.says)).min()
    }
}

fn claimed_sensitive(says: &PathClaim) -> Option<Sensitive> {
    if let PathClaim::Sensitive(sensitive) = says { Some(*sensitive) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    proptest! {
        /// A look before the names changes nothing.
        #[test]
        fn a_table_has_what_was_added_and_nothing_else(
            names in prop::collection::vec("[ab]{1,3}|a{60,70}|é", 0..12),
            asked in "[ab]{0,3}|a{60,70}|é",
        ) {
            let mut table = NameTable::default();
            for (value, name) in names.iter().enumerate() {
                table.add(name.as_bytes(), value);
            }
            let expected: Vec<usize> = (0..names.len()).filter(|at| names.get(*at) == Some(&asked)).collect();
            prop_assert_eq!(table.of(asked.as_bytes()), expected.as_slice());
        }

        #[test]
        fn a_path_finds_all_patterns_that_match_it(
            parts in prop::collection::vec(
                select(vec![
                    "db", "migrate", "migrations", "Migrations", "gradle", "wrapper", ".github", "workflows", "test.yml",
                    "0001_a.py", "V1__a.sql", "x.rb", "routes.rb", "schema.rb", "config", "production.yml", "README.md",
                    "FooTest.java", "x_test.go", "a.sql", "prisma", "client", ".env.local", "my_web", "router.ex", "src",
                ]),
                1..6,
            ),
        ) {
            let rules = PathRules::shipped().unwrap();
            let path = parts.join("/");
            let mut found = Vec::new();
            let name = parts.last().unwrap().as_bytes();
            rules.globs.find(path.as_bytes(), extension(name).unwrap_or_default(), &mut found);
            let Globs { by_part, by_extension, others } = &rules.globs;
            let all = by_part.by_name.values().chain(by_extension.values()).flatten().chain(others);
            let matching = all.filter(|(glob, _)| glob.matches(path.as_bytes())).map(|(_, rule)| *rule);
            prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), matching.collect::<BTreeSet<_>>(), "{}", path);
        }
    }

    #[test]
    fn the_shipped_rules_are_rules() {
        assert!(PathRules::shipped().unwrap().rules.len() > 100);
    }

    #[track_caller]
    fn check(line: &str) {
        let error = PathRules::read(&format!("# x\n{line}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2 of the path rules is not a rule; write what, value, how, patterns and reason, separated by tabs",
            "{line}"
        );
    }

    #[test]
    fn a_line_that_is_no_rule_is_refused() {
        check("test\t-\tname\tx");
        check("test\t-\tname\tx\t");
        check("nonsense\t-\tname\tx\tbecause");
        check("test\t-\tsomehow\tx\tbecause");
        check("test\t-\tname\tx  y\tbecause");
        check("test\t-\tname\ta/b\tbecause");
        check("test\t-\tfolder\ta*\tbecause");
        check("test\t-\tname\t[a\tbecause");
    }
}
