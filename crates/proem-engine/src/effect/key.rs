//! The keys by which the same action happens at most once.
//!
//! A key is made of the project, the action, what it is aimed at and the signals that caused it, with their revisions.
//! Never of a text, so that a model which words the same thing anew gets the same key. A signal with other content is
//! another revision and gives another key.

use core::fmt;
use std::collections::BTreeSet;

use proem_guard::check::{Referent, ReferentKind};
use proem_text::hex;
use sha2::{Digest, Sha256};

/// The form of the hashed bytes. Raised when a byte changes.
const KEY_FORM: &[u8] = b"proem effect key 1";
/// The same for one signal's claim.
const CLAIM_FORM: &[u8] = b"proem effect claim 1";

/// The most signals that one action has.
pub const MAX_SIGNALS: usize = 256;
/// The most bytes of a signal's id, of its revision, and of an action's name.
pub const MAX_NAME: usize = 256;

/// A signal in one of its revisions. Both are of the caller's own making: he looked the signal up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignalRevision {
    /// The signal's id.
    pub id: String,
    /// Which content it had, such as its hash or number.
    pub revision: String,
}

/// The identity of an action: project, action, target and signals.
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'a> {
    /// The project, as the store names it.
    pub project: &'a str,
    /// The action's name, as the policy spells it.
    pub action: &'a str,
    /// The action's target.
    pub target: Referent,
    /// The signals that caused it, in any order.
    pub causes: &'a [SignalRevision],
}

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRefusal {
    /// The project or the action has no name, or one that is too long.
    Name,
    /// No signal caused it.
    NoCause,
    /// More than [`MAX_SIGNALS`] did.
    TooManyCauses,
    /// A signal's id or revision is empty, or longer than [`MAX_NAME`].
    Signal,
}

impl fmt::Display for KeyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => {
                write!(f, "project and action need names, the action's of at most {MAX_NAME} bytes; name them")
            }
            Self::NoCause => f.write_str("an action without a cause would be the same each time; name a signal"),
            Self::TooManyCauses => write!(f, "an action has at most {MAX_SIGNALS} signals; name fewer"),
            Self::Signal => write!(f, "a signal needs an id and a revision of 1 to {MAX_NAME} bytes; name both"),
        }
    }
}

impl core::error::Error for KeyRefusal {}

/// The key of an action, which is its id, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectKey([u8; 32]);

/// One signal's claim on what an action does: only one action may have it.
///
/// Two actions that share a project, a name, a target and one signal in one revision share a claim, whatever
/// other signals they have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignalClaim([u8; 32]);

impl EffectKey {
    /// The key of an action.
    ///
    /// # Errors
    ///
    /// [`KeyRefusal`] if a part is missing or too large.
    pub fn new(parts: &KeyParts<'_>) -> Result<Self, KeyRefusal> {
        let causes = sorted_causes(parts)?;
        let mut hash = shared_hash(KEY_FORM, parts);
        hash_number(&mut hash, causes.len());
        for cause in causes {
            hash_signal(&mut hash, cause);
        }
        Ok(Self(hash.finalize().into()))
    }

    /// The key with these bytes, as it was stored.
    #[must_use]
    pub const fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the SHA-256 hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The `Message-ID` of the mail that it goes out as: 64 digits and the domain, in angle brackets.
    ///
    /// `None` if the domain is none: at least two labels in the ASCII form of the DNS.
    #[must_use]
    pub fn message_id(&self, domain: &str) -> Option<String> {
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let is_domain = domain.len() <= 253 && domain.contains('.') && domain.split('.').all(is_label);
        is_domain.then(|| format!("<{self}@{}>", domain.to_ascii_lowercase()))
    }

    /// The name of its file in the outbox, with that ending.
    #[must_use]
    pub fn file_name(&self, form: OutboxForm) -> String {
        let ending = match form {
            OutboxForm::Mail => "eml",
            OutboxForm::Request => "json",
        };
        format!("{self}.{ending}")
    }
}

/// The contents of a file in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxForm {
    /// A mail in the form of RFC 5322.
    Mail,
    /// A request to a server.
    Request,
}

/// 64 hexadecimal digits, of which nothing has to be escaped in a mail, a path or a table.
impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode_hex(self.0))
    }
}

impl fmt::Debug for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EffectKey({self})")
    }
}

impl SignalClaim {
    /// The claims of an action: one for each of its signals, sorted.
    ///
    /// # Errors
    ///
    /// As [`EffectKey::new`].
    pub fn of(parts: &KeyParts<'_>) -> Result<Vec<Self>, KeyRefusal> {
        let claim = |cause| {
            let mut hash = shared_hash(CLAIM_FORM, parts);
            hash_signal(&mut hash, cause);
            Self(hash.finalize().into())
        };
        let mut claims: Vec<Self> = sorted_causes(parts)?.into_iter().map(claim).collect();
        claims.sort_unstable();
        Ok(claims)
    }

    /// The 32 bytes of the SHA-256 hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SignalClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignalClaim({})", hex::encode_hex(self.0))
    }
}

/// The causes, each once and sorted.
fn sorted_causes<'a>(parts: &KeyParts<'a>) -> Result<BTreeSet<&'a SignalRevision>, KeyRefusal> {
    if parts.project.is_empty() || !is_key_name(parts.action) {
        return Err(KeyRefusal::Name);
    }
    if parts.causes.is_empty() {
        return Err(KeyRefusal::NoCause);
    }
    if parts.causes.len() > MAX_SIGNALS {
        return Err(KeyRefusal::TooManyCauses);
    }
    if !parts.causes.iter().all(|cause| is_key_name(&cause.id) && is_key_name(&cause.revision)) {
        return Err(KeyRefusal::Signal);
    }
    Ok(parts.causes.iter().collect())
}

const fn is_key_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME
}

/// A hash that has taken in what all signals share.
fn shared_hash(form: &[u8], parts: &KeyParts<'_>) -> Sha256 {
    let mut hash = Sha256::new();
    hash_text(&mut hash, form);
    hash_text(&mut hash, parts.project.as_bytes());
    hash_text(&mut hash, parts.action.as_bytes());
    hash_text(&mut hash, referent_word(parts.target.kind()).as_bytes());
    hash.update(parts.target.digest());
    hash
}

fn hash_signal(hash: &mut Sha256, cause: &SignalRevision) {
    hash_text(hash, cause.id.as_bytes());
    hash_text(hash, cause.revision.as_bytes());
}

/// A text behind its length, so that no two rows of texts have the same bytes.
fn hash_text(hash: &mut Sha256, text: &[u8]) {
    hash_number(hash, text.len());
    hash.update(text);
}

fn hash_number(hash: &mut Sha256, number: usize) {
    hash.update((number as u64).to_be_bytes());
}

/// The kind of a target as it is hashed. A changed word changes every key.
const fn referent_word(kind: ReferentKind) -> &'static str {
    match kind {
        ReferentKind::Recipient => "recipient",
        ReferentKind::Host => "host",
        ReferentKind::Url => "url",
        ReferentKind::Amount => "amount",
        ReferentKind::Id => "id",
        ReferentKind::Number => "number",
    }
}
