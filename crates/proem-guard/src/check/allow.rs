//! The values that an action may name although no trusted text has them.

use super::{amount, host, mail, number, rule::ReferentKind, url};
use alloc::{collections::BTreeSet, string::String, vec::Vec};
use core::fmt;

/// The meaning of an [`Allowlist`] entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowlistEntryKind {
    /// A mail address or a handle.
    Recipient,
    /// Every address at exactly this domain.
    MailDomain,
    /// A host, and its front page.
    Host,
    /// Exactly this web address.
    Url,
    /// Every path below this web address, which ends with `/`; without query, fragment and
    /// percent-encoding.
    UrlPrefix,
    /// An amount of money.
    Amount,
    /// One account, ticket or channel by its exact identifier.
    Id,
    /// Every id that begins like this and goes on with 1 to 18 digits, such as the tickets of a project: `PROJ-`.
    IdPrefix,
    /// The number of a phone or an account.
    Number,
}

/// An entry without a canonical form, which could never match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCanonical(AllowlistEntryKind);

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = match self.0 {
            AllowlistEntryKind::Recipient => "one plain e-mail address or handle, as in `name@example.org`",
            AllowlistEntryKind::MailDomain => "a plain domain, as in `example.org`",
            AllowlistEntryKind::Host => "a plain host, as in `example.org`",
            AllowlistEntryKind::Url => "a plain URL, as in `https://example.org/path`",
            AllowlistEntryKind::UrlPrefix => "a URL that ends with `/`, as in `https://example.org/path/`",
            AllowlistEntryKind::Amount => "a currency and digits, as in `EUR 1200.50`",
            AllowlistEntryKind::Id => "letters, digits and `-_.:/`",
            AllowlistEntryKind::IdPrefix => "letters, digits and `-_.:/` that end with no digit, as in `PROJ-`",
            AllowlistEntryKind::Number => "digits, as in `+49 30 1234567`",
        };
        write!(f, "this entry of an allowlist matches nothing; write {wanted}")
    }
}

impl core::error::Error for NotCanonical {}

/// Values that an action may name, in their canonical forms.
#[derive(Debug, Clone, Default)]
pub struct Allowlist {
    values: BTreeSet<(ReferentKind, String)>,
    domains: BTreeSet<String>,
    prefixes: Vec<url::Url>,
    id_prefixes: BTreeSet<String>,
}

/// The most digits behind the beginning of an id: those of any 64-bit number that a tracker counts to.
const MAX_ID_DIGITS: usize = 18;

impl Allowlist {
    /// Nothing is allowed.
    #[must_use]
    pub const fn new() -> Self {
        Self { values: BTreeSet::new(), domains: BTreeSet::new(), prefixes: Vec::new(), id_prefixes: BTreeSet::new() }
    }

    /// Allows one more value.
    ///
    /// # Errors
    ///
    /// [`NotCanonical`] if the text isn't a value of the kind. The list stays as it was.
    pub fn allow(&mut self, entry: AllowlistEntryKind, text: &str) -> Result<(), NotCanonical> {
        self.try_allow(entry, text).ok_or(NotCanonical(entry))
    }

    fn try_allow(&mut self, entry: AllowlistEntryKind, text: &str) -> Option<()> {
        let kind = match entry {
            AllowlistEntryKind::MailDomain => {
                self.domains.insert(host::domain(text)?);
                return Some(());
            }
            AllowlistEntryKind::UrlPrefix => {
                let url::UrlParse::Url(url) = url::parse_url(text) else { return None };
                let is_prefix = !url.scheme.is_empty() && url.rest.ends_with('/') && url.is_plain_path();
                return is_prefix.then(|| self.prefixes.push(url));
            }
            AllowlistEntryKind::IdPrefix => {
                // One that ended with a digit would cut a number in two.
                let prefix = number::canonical_id(text).filter(|id| !id.ends_with(|c: char| c.is_ascii_digit()))?;
                self.id_prefixes.insert(String::from(prefix));
                return Some(());
            }
            AllowlistEntryKind::Recipient => ReferentKind::Recipient,
            AllowlistEntryKind::Host => ReferentKind::Host,
            AllowlistEntryKind::Url => ReferentKind::Url,
            AllowlistEntryKind::Amount => ReferentKind::Amount,
            AllowlistEntryKind::Id => ReferentKind::Id,
            AllowlistEntryKind::Number => ReferentKind::Number,
        };
        // A web address vouches for itself only, not for its host.
        let listed = if kind == ReferentKind::Url { 1 } else { usize::MAX };
        self.values.extend(vouched_forms(kind, text)?.into_iter().take(listed));
        Some(())
    }

    /// Whether one of the canonical forms is listed.
    pub(super) fn has(&self, kind: ReferentKind, form: &str) -> bool {
        self.values.contains(&(kind, String::from(form)))
    }

    /// Whether every address at the address's domain is allowed.
    pub(super) fn has_domain_of(&self, address: &str) -> bool {
        address.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && self.domains.contains(domain))
    }

    /// Whether every id that begins like this one and goes on with digits is allowed.
    pub(super) fn has_prefix_of_id(&self, id: &str) -> bool {
        let beginning = id.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = id.len().saturating_sub(beginning.len());
        (1..=MAX_ID_DIGITS).contains(&digits) && self.id_prefixes.contains(beginning)
    }

    /// Whether the address is below an allowed one.
    pub(super) fn has_prefix_of(&self, url: &url::Url) -> bool {
        url.is_plain_path()
            && self.prefixes.iter().any(|prefix| {
                prefix.scheme == url.scheme && prefix.place == url.place && url.rest.starts_with(&prefix.rest)
            })
    }
}

/// The forms that a text which names a value vouches for: its canonical form, and its parts.
pub(super) fn vouched_forms(kind: ReferentKind, text: &str) -> Option<Vec<(ReferentKind, String)>> {
    let one = |form: Option<String>| form.map(|form| Vec::from([(kind, form)]));
    match kind {
        ReferentKind::Recipient => one(mail::canonical_recipient(text)),
        ReferentKind::Amount => one(amount::canonical_amount(text)),
        ReferentKind::Number => one(number::canonical_number(text)),
        ReferentKind::Id => number::canonical_id(text).map(|id| {
            let folded = folded_id(id);
            Vec::from([(kind, String::from(id)), (kind, folded)])
        }),
        ReferentKind::Host => {
            let place = host::host_port(text)?;
            let page = url::Url { scheme: "", place: place.clone(), rest: String::from("/") };
            Some(Vec::from([(kind, place.text()), (ReferentKind::Url, page.text())]))
        }
        ReferentKind::Url => {
            let url::UrlParse::Url(url) = url::parse_url(text) else { return None };
            Some(Vec::from([(kind, url.text()), (ReferentKind::Host, url.place.text())]))
        }
    }
}

/// An id that may be written in any case. The blank keeps it apart from ids as written.
pub(super) fn folded_id(id: &str) -> String {
    let mut folded = String::from(" ");
    folded.push_str(&id.to_ascii_lowercase());
    folded
}
