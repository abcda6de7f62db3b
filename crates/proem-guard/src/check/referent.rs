//! The referent of a field, so that two spellings of the same are equal and no text gets out.

use super::{ActionField, CaseSensitivity, FieldRole, allow::vouched_forms, rule::ReferentKind};
use alloc::string::String;
use core::fmt;
use sha2::{Digest, Sha256};

/// A field's referent in its canonical form, of which only the hash is left.
///
/// Two are equal if [`super::check_action`] takes their texts for the same: whole tokens, case folded where case means
/// nothing, names of hosts in ASCII.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Referent {
    kind: ReferentKind,
    digest: [u8; 32],
}

impl Referent {
    /// The field's referent. `None` for a text without a canonical form, and for roles that name nothing.
    #[must_use]
    pub fn of(field: &ActionField<'_>) -> Option<Self> {
        let (kind, form) = match field.role {
            FieldRole::Recipient => (ReferentKind::Recipient, 0),
            FieldRole::Host => (ReferentKind::Host, 0),
            FieldRole::Url => (ReferentKind::Url, 0),
            FieldRole::Amount => (ReferentKind::Amount, 0),
            FieldRole::Id(CaseSensitivity::Exact) => (ReferentKind::Id, 0),
            FieldRole::Id(CaseSensitivity::Folded) => (ReferentKind::Id, 1),
            FieldRole::Number => (ReferentKind::Number, 0),
            FieldRole::FreeText(_) | FieldRole::Plain => return None,
        };
        let (_, text): (_, String) = vouched_forms(kind, field.value.value())?.into_iter().nth(form)?;
        Some(Self { kind, digest: Sha256::digest(text.as_bytes()).into() })
    }

    /// The sort of value, so that a host is no mail address.
    #[must_use]
    pub const fn kind(&self) -> ReferentKind {
        self.kind
    }

    /// The SHA-256 of the canonical form.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl fmt::Debug for Referent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Referent({:?}, {})", self.kind, proem_text::hex::encode_hex(self.digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untrusted::Untrusted;
    use proem_text::Label;

    fn referent(role: FieldRole, text: &str) -> Option<Referent> {
        let value = Untrusted::new(String::from(text), Label::trusted());
        Referent::of(&ActionField { path: "target", role, value: &value })
    }

    #[test]
    fn spellings_of_the_same_are_equal() {
        let check = |role, same: &[&str]| {
            for text in same {
                assert!(referent(role, text).is_some(), "{text}");
                assert_eq!(referent(role, text), referent(role, same[0]), "{text}");
            }
        };
        check(FieldRole::Recipient, &["ada@bücher.example", "Ada <ADA@xn--bcher-kva.example>", " ada@BÜCHER.example"]);
        check(FieldRole::Recipient, &["#Team", "#team"]);
        check(FieldRole::Host, &["example.org", "EXAMPLE.org."]);
        check(FieldRole::Url, &["https://example.org/a", "HTTPS://Example.ORG:443/b/../%61"]);
        check(FieldRole::Amount, &["EUR 1200.50", "1.200,50 €"]);
        check(FieldRole::Id(CaseSensitivity::Folded), &["PROJ-1", "proj-1"]);
        check(FieldRole::Number, &["+49 30 1234", "0049-30-1234"]);
    }

    #[test]
    fn others_are_not() {
        let check = |role, other, left: &str, right: &str| {
            assert!(referent(role, left).is_some() && referent(other, right).is_some(), "{left} {right}");
            assert_ne!(referent(role, left), referent(other, right), "{left} {right}");
        };
        let (exact, folded) = (FieldRole::Id(CaseSensitivity::Exact), FieldRole::Id(CaseSensitivity::Folded));
        check(FieldRole::Recipient, FieldRole::Recipient, "a@corp.com", "a+x@corp.com");
        check(FieldRole::Recipient, FieldRole::Recipient, "a@corp.com", "a@corp.com.evil.example");
        check(FieldRole::Host, FieldRole::Host, "example.org", "example.org:8080");
        check(exact, exact, "PROJ-1", "proj-1");
        check(exact, folded, "PROJ-1", "PROJ-1");
        // The same letters in another role are another thing.
        check(FieldRole::Host, exact, "example.org", "example.org");
    }

    #[test]
    fn what_names_nothing_has_none() {
        let check = |role, text| assert_eq!(referent(role, text), None, "{text}");
        check(FieldRole::Recipient, "a@b, c@d");
        check(FieldRole::Recipient, "a@example.org\r\nBcc: c@example.org");
        check(FieldRole::Host, "exa\u{200b}mple.org");
        check(FieldRole::Id(CaseSensitivity::Exact), "");
        check(FieldRole::Plain, "example.org");
    }
}
