//! Makes persons of the identities that authors have.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::PersonId;
use super::table::index_to_usize;
use crate::identity::{Mailmap, Person};

/// The persons behind identities, by one mailmap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct People {
    /// By mail address.
    pub(super) persons: Vec<Person>,
    /// The person of each identity.
    numbers: Vec<PersonId>,
}

impl People {
    /// The persons of identities. A person is a mail address after the mailmap. Of its names the longest is shown, and
    /// of several the last by their bytes.
    pub(super) fn of(identities: &[Person], mailmap: &Mailmap) -> Self {
        let person = |identity: &Person| mailmap.person(identity.name.as_bytes(), identity.mail.as_bytes());
        let each: Vec<Person> = identities.iter().map(person).collect();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for Person { mail, name } in &each {
            let longest = names.entry(mail).or_default();
            if (longest.len(), *longest) < (name.len(), name.as_str()) {
                *longest = name;
            }
        }
        let places: BTreeMap<&str, u32> = names.keys().copied().zip(0..).collect();
        let number = |person: &Person| PersonId(places.get(person.mail.as_str()).copied().unwrap_or(u32::MAX));
        let numbers = each.iter().map(number).collect();
        let person = |(mail, name): (&&str, &&str)| Person { mail: String::from(*mail), name: String::from(*name) };
        Self { persons: names.iter().map(person).collect(), numbers }
    }

    /// The person of an identity. Nobody's number if there is no such identity.
    pub(super) fn person_of(&self, identity: u32) -> PersonId {
        self.numbers.get(index_to_usize(identity)).copied().unwrap_or(PersonId(u32::MAX))
    }
}
