//! Tables that are looked up as they are written.
//!
//! A table that ships has thousands of lines of which one run looks at a few. Reading it into a map first
//! takes longer than everything that is then asked of it.

use alloc::{borrow::Cow, collections::BTreeMap, format, string::String};
use core::cmp::Ordering;

/// Lines of a key and what is said of it, apart at the first tab, in the order of the keys' bytes. Each key once.
///
/// Neither has a line break, and keys have no tab. Lines in another order only hide some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineTable(Cow<'static, str>);

impl LineTable {
    /// The table of what is said of each key.
    #[must_use]
    pub fn new(rows: &BTreeMap<String, String>) -> Self {
        Self(rows.iter().map(|(key, said)| format!("{key}\t{said}\n")).collect())
    }

    /// The table of [`Self::lines`], without looking at them.
    #[must_use]
    pub const fn of_lines(lines: &'static str) -> Self {
        Self(Cow::Borrowed(lines))
    }

    /// Its lines, each with a line break at its end.
    #[must_use]
    pub fn lines(&self) -> &str {
        &self.0
    }

    /// The entry of a key. Takes time in proportion to the logarithm of the number of lines and the length of a few.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut lines: &str = &self.0;
        // The line in the middle is the one that wraps around or begins at the half, by bytes.
        while !lines.is_empty() {
            let half = lines.as_bytes().get(..lines.len() / 2)?;
            let start = half.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end.saturating_add(1));
            let (before, rest) = lines.split_at_checked(start)?;
            let (line, behind) = rest.split_once('\n')?;
            let (found, said) = line.split_once('\t')?;
            lines = match key.cmp(found) {
                Ordering::Equal => return Some(said),
                Ordering::Less => before,
                Ordering::Greater => behind,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_map(
            rows in prop::collection::btree_map("[a-c\u{e9}]{0,3}", "[a-c\t ]{0,6}", 0..40),
            asked in prop::collection::vec("[a-d\u{e9}]{0,3}", 20),
        ) {
            let table = LineTable::new(&rows);
            for key in rows.keys().chain(&asked) {
                prop_assert_eq!(table.get(key), rows.get(key).map(String::as_str), "{:?}", key);
            }
        }

        #[test]
        fn no_lines_are_too_odd(lines in "[a\t\n]{0,12}", key in "[a\t\n]{0,3}") {
            _ = LineTable(Cow::Owned(lines)).get(&key);
        }
    }
}
