//! A model's statements about its own action may only make code stricter.

use super::{host, mail};
use crate::untrusted::Untrusted;
use alloc::{collections::BTreeSet, string::String};

/// Whether a person must agree first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalNeed {
    /// The action may go on by itself.
    NotNeeded,
    /// A person must agree.
    Needed,
}

/// Whom a message reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only people of our own domains.
    Internal,
    /// Anybody else.
    External,
}

/// How long an action waits for an objection, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldMinutes(pub u32);

/// How sure a model is, in thousandths. More than a thousand counts as nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confidence(u16);

impl Confidence {
    /// `thousandths` of certainty, 0 to 1000.
    #[must_use]
    pub const fn new(thousandths: u16) -> Self {
        Self(if thousandths > 1000 { 0 } else { thousandths })
    }

    /// In thousandths, 0 to 1000.
    #[must_use]
    pub const fn thousandths(self) -> u16 {
        self.0
    }
}

/// `requires_approval` as a model gives it.
impl From<bool> for ApprovalNeed {
    fn from(required: bool) -> Self {
        if required { Self::Needed } else { Self::NotNeeded }
    }
}

/// `is_external` as a model gives it.
impl From<bool> for Reach {
    fn from(external: bool) -> Self {
        if external { Self::External } else { Self::Internal }
    }
}

mod sealed {
    pub trait StrictnessSeal {}
    impl StrictnessSeal for super::ApprovalNeed {}
    impl StrictnessSeal for super::Reach {}
    impl StrictnessSeal for super::HoldMinutes {}
    impl StrictnessSeal for super::Confidence {}
}

/// A value of which two can be compared by strictness.
pub trait Strictness: sealed::StrictnessSeal + Copy {
    /// The stricter of the two.
    #[must_use]
    fn stricter(self, other: Self) -> Self;
}

macro_rules! greater_is_stricter {
    ($($type:ty),*) => { $(impl Strictness for $type {
        fn stricter(self, other: Self) -> Self { self.max(other) }
    })* };
}
greater_is_stricter!(ApprovalNeed, Reach, HoldMinutes);

impl Strictness for Confidence {
    fn stricter(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

/// The stricter of what the model said, if it said something, and what code computed.
#[must_use]
pub fn tighten<T: Strictness>(model: Option<&Untrusted<T>>, computed: T) -> T {
    model.map_or(computed, |model| model.value().stricter(computed))
}

/// Whom a message to `recipient` reaches: internal if its domain is exactly one of `internal`.
///
/// A subdomain, a handle or an address that can't be read is external. For many recipients, [`InternalDomains`] reads
/// the domains once.
#[must_use]
pub fn reach(recipient: &Untrusted<String>, internal: &[&str]) -> Reach {
    InternalDomains::new(internal.iter().copied()).reach(recipient)
}

/// The domains whose addresses are our own, in their canonical forms.
#[derive(Debug, Clone, Default)]
pub struct InternalDomains(BTreeSet<String>);

impl InternalDomains {
    /// Reads domains. Other texts have no addresses.
    pub fn new<'a>(domains: impl IntoIterator<Item = &'a str>) -> Self {
        Self(domains.into_iter().filter_map(host::domain).collect())
    }

    /// Whom a message reaches, as [`reach()`] says.
    #[must_use]
    pub fn reach(&self, recipient: &Untrusted<String>) -> Reach {
        let canonical = mail::canonical_recipient(recipient.value());
        let domain =
            canonical.as_deref().and_then(|address| address.rsplit_once('@')).filter(|(local, _)| !local.is_empty());
        let is_ours = domain.is_some_and(|(_, domain)| self.0.contains(domain));
        if is_ours { Reach::Internal } else { Reach::External }
    }
}
