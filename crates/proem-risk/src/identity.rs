//! The identities of people: mail addresses, the mailmap, bots.
//!
//! A person is a mail address in lower case, after the repository's mailmap (gitmailmap(5)). The name is for reading
//! only.

mod bots;

pub use self::bots::is_bot;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use proem_text::legacy_text;
use serde::{Deserialize, Serialize};

/// An author as git names one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person {
    /// The mail address, in lower case. The name, also in lower case, where there is none.
    pub mail: String,
    /// The name that is shown for the address.
    pub name: String,
}

/// A `.mailmap`, from the base of an assessed change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mailmap {
    /// By the address in a commit, in lower case.
    entries: BTreeMap<Vec<u8>, MailmapEntry>,
}

/// The entry of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct MailmapEntry {
    /// For every name that has no mapping of its own.
    any: Proper,
    /// By the name in a commit, in lower case.
    by_name: BTreeMap<Vec<u8>, Proper>,
}

/// The replacement of a mapping. Unnamed parts stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Proper {
    name: Option<Vec<u8>>,
    mail: Option<Vec<u8>>,
}

impl Mailmap {
    /// Reads a mailmap. Lines that are none are left out, as git does.
    ///
    /// The forms are those of gitmailmap(5): `Name <commit>`, `<mail> <commit>`, `Name <mail> <commit>` and
    /// `Name <mail> Commit Name <commit>`. Of two mappings for the same commits the later one holds.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        let mut mailmap = Self::default();
        for line in text.split(|&byte| byte == b'\n') {
            mailmap.add(line);
        }
        mailmap
    }

    fn add(&mut self, line: &[u8]) {
        if line.starts_with(b"#") {
            return;
        }
        let Some(first) = Half::read(line) else { return };
        // An empty address can be the commit's, but never one's only address.
        if first.mail.is_empty() {
            return;
        }
        match Half::read(first.rest) {
            None => self.entry(first.mail).any.put(first.name, None),
            Some(Half { name: None, mail, .. }) => self.entry(mail).any.put(first.name, Some(first.mail)),
            Some(Half { name: Some(name), mail, .. }) => {
                let proper = self.entry(mail).by_name.entry(name.to_ascii_lowercase()).or_default();
                *proper = Proper::default();
                proper.put(first.name, Some(first.mail));
            }
        }
    }

    fn entry(&mut self, mail: &[u8]) -> &mut MailmapEntry {
        self.entries.entry(mail.to_ascii_lowercase()).or_default()
    }

    /// The person behind a name and an address. Both match whatever their case.
    #[must_use]
    pub fn person(&self, name: &[u8], mail: &[u8]) -> Person {
        let (name, mail) = (name.trim_ascii(), mail.trim_ascii());
        let proper = self.entries.get(&mail.to_ascii_lowercase()).map(|entry| {
            let named = (!entry.by_name.is_empty()).then(|| entry.by_name.get(&name.to_ascii_lowercase()));
            named.flatten().unwrap_or(&entry.any)
        });
        let name = proper.and_then(|proper| proper.name.as_deref()).unwrap_or(name);
        let mail = proper.and_then(|proper| proper.mail.as_deref()).unwrap_or(mail);
        let address = if mail.is_empty() { name } else { mail };
        Person { mail: legacy_text(address).to_lowercase(), name: legacy_text(name).into_owned() }
    }
}

impl Proper {
    fn put(&mut self, name: Option<&[u8]>, mail: Option<&[u8]>) {
        self.name = name.map(<[u8]>::to_vec).or(self.name.take());
        self.mail = mail.map(<[u8]>::to_vec).or(self.mail.take());
    }
}

/// A name with an address behind it, and what follows.
struct Half<'a> {
    name: Option<&'a [u8]>,
    mail: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Half<'a> {
    /// Cuts `Name <address>` off a line. `None` if there is no address.
    fn read(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|&byte| byte == b'<')?;
        let name = line.get(..open)?.trim_ascii();
        let after = line.get(open..)?.get(1..)?;
        let close = after.iter().position(|&byte| byte == b'>')?;
        let rest = after.get(close..)?.get(1..)?;
        Some(Self { name: (!name.is_empty()).then_some(name), mail: after.get(..close)?, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(mailmap: &str, commit: (&str, &str), expected: (&str, &str)) {
        let person = Mailmap::read(mailmap.as_bytes()).person(commit.0.as_bytes(), commit.1.as_bytes());
        assert_eq!((person.name.as_str(), person.mail.as_str()), expected, "{mailmap:?}");
    }

    #[test]
    fn without_a_mapping_the_commit_holds() {
        check("", ("Ann Lee", "Ann@Example.ORG"), ("Ann Lee", "ann@example.org"));
        check("Ann <ann@a>", ("Bob", "bob@a"), ("Bob", "bob@a"));
        check("", ("Ann", ""), ("Ann", "ann"));
        check("", (" Ann ", " ann@a "), ("Ann", "ann@a"));
    }

    #[test]
    fn all_four_forms() {
        check("Ann Lee <ann@a>", ("al", "ann@a"), ("Ann Lee", "ann@a"));
        check("<ann@new> <ann@old>", ("al", "ann@old"), ("al", "ann@new"));
        check("Ann Lee <ann@new> <ann@old>", ("al", "ann@old"), ("Ann Lee", "ann@new"));
        check("Ann Lee <ann@new> root <root@host>", ("root", "root@host"), ("Ann Lee", "ann@new"));
        check("Ann Lee <ann@new> root <root@host>", ("bob", "root@host"), ("bob", "root@host"));
        check("Ann Lee <ann@new> <>", ("al", ""), ("Ann Lee", "ann@new"));
    }

    #[test]
    fn names_and_addresses_match_whatever_their_case() {
        check("Ann <ann@new> ROOT <Root@HOST>", ("root", "rOOt@host"), ("Ann", "ann@new"));
        check("Ann <ANN@New> <old@a>", ("x", "OLD@A"), ("Ann", "ann@new"));
    }

    #[test]
    fn a_mapping_by_name_goes_before_one_for_all_and_later_ones_before_earlier_ones() {
        let both = "Shared <team@a>\nAnn <ann@a> Ann <team@a>\n";
        check(both, ("Ann", "team@a"), ("Ann", "ann@a"));
        check(both, ("Bob", "team@a"), ("Shared", "team@a"));
        check("One <x@a>\nTwo <x@a>", ("x", "x@a"), ("Two", "x@a"));
        // A later line adds what an earlier one didn't say.
        check("Ann <x@a>\n<ann@a> <x@a>", ("x", "x@a"), ("Ann", "ann@a"));
    }

    #[test]
    fn comments_and_lines_that_are_none_are_left_out() {
        check("# Ann <ann@a>\n", ("al", "ann@a"), ("al", "ann@a"));
        check("Ann <ann@a> # the one", ("al", "ann@a"), ("Ann", "ann@a"));
        check("Ann <ann@a>\r\n", ("al", "ann@a"), ("Ann", "ann@a"));
        check("Ann ann@a\nAnn <ann@a", ("al", "ann@a"), ("al", "ann@a"));
        check("Ann <>", ("al", ""), ("al", "al"));
        check("   Ann   Lee   <ann@a>", ("al", "ann@a"), ("Ann   Lee", "ann@a"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_addresses_come_out_in_lower_case(
            text in proptest::collection::vec(any::<u8>(), 0..300), name in ".{0,9}", mail in "[A-Z@.]{0,9}",
        ) {
            let person = Mailmap::read(&text).person(name.as_bytes(), mail.as_bytes());
            prop_assert_eq!(person.mail.to_lowercase(), person.mail);
        }
    }
}
