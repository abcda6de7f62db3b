//! The names of cassettes.

use core::fmt;

use crate::wire::CallSlot;

/// The name of an attempt's cassette, from its run and call: `0001-00-00.json`.
///
/// The order is theirs. The files' names sort the same way up to run 9999, effect 99 and attempt 99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CassetteName {
    pub(super) slot: CallSlot,
    pub(super) attempt: u32,
}

impl CassetteName {
    /// Reads what [`fmt::Display`] writes, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_suffix(".json")?.split('-').map(|number| number.parse().ok());
        let (run, effect, attempt) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let name = Self { slot: CallSlot { run, effect }, attempt };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for CassetteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}.json", self.slot.run, self.slot.effect, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names() {
        for (text, expected) in [
            ("0001-00-00.json", Some((1, 0, 0))),
            ("12345-100-07.json", Some((12345, 100, 7))),
            ("1-0-0.json", None),
            ("0001-00-00-00.json", None),
            ("0001-00.json", None),
            ("0001-00-+1.json", None),
            ("0001-00-00.JSON", None),
            ("package.json", None),
            ("99999999999-00-00.json", None),
        ] {
            let found = CassetteName::parse(text).map(|name| (name.slot.run, name.slot.effect, name.attempt));
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_as_it_is_written(run: u32, effect: u32, attempt: u32) {
            let name = CassetteName { slot: CallSlot { run, effect }, attempt };
            prop_assert_eq!(CassetteName::parse(&name.to_string()), Some(name));
        }

        #[test]
        fn names_sort_as_they_are(
            one in (1u32..10_000, 0u32..100, 0u32..100), two in (1u32..10_000, 0u32..100, 0u32..100),
        ) {
            let name = |(run, effect, attempt)| CassetteName { slot: CallSlot { run, effect }, attempt };
            let (one, two) = (name(one), name(two));
            prop_assert_eq!(one.cmp(&two), one.to_string().cmp(&two.to_string()));
        }
    }
}
