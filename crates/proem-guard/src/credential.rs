//! Credentials that are told by their shape alone.
//!
//! Only shapes that their makers document and that hardly anything else has: a false alarm takes away text that
//! somebody wanted. A shape is no proof. Credentials that were loaded by name are searched for as such, and those
//! without a shape are not found here.
//!
//! Invariants: what [`redact_credentials`] leaves holds no credential that [`find_credentials`] finds. The time is
//! linear in the text.

mod disguise;
mod document;
mod encodings;
mod key_block;
mod stream;
mod web_token;

pub use self::document::redact_document;
pub use self::stream::CredentialStream;

use alloc::{format, string::String, vec::Vec};
use proem_text::Span;

/// A credential in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// Its kind.
    pub kind: CredentialKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of credential with a shape of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CredentialKind {
    /// `AKIA…` and `ASIA…`: the id of an access key of Amazon's, without which its secret is worth nothing
    /// (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html>).
    AwsKey,
    /// `sk-…`: keys of OpenAI, Anthropic and those who imitate them.
    ApiKey,
    /// `ghp_…` and its siblings
    /// (<https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/>).
    GitHubToken,
    /// `xoxb-…` and its siblings (<https://docs.slack.dev/authentication/tokens>).
    SlackToken,
    /// A private key between lines of RFC 7468, or of OpenPGP's armour.
    PrivateKey,
    /// Three parts of base64url, the first two of which are objects: RFC 7519.
    WebToken,
}

impl CredentialKind {
    /// The word that represents it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwsKey => "aws-key",
            Self::ApiKey => "api-key",
            Self::GitHubToken => "github-token",
            Self::SlackToken => "slack-token",
            Self::PrivateKey => "private-key",
            Self::WebToken => "web-token",
        }
    }
}

/// The credentials in a text, in its order. None within another.
///
/// Found as they are, and in disguise: with invisible characters, tags or one separator throughout between their
/// characters, in character references, escapes, percent-encoding, base64 and hexadecimal digits, three of these deep.
#[must_use]
pub fn find_credentials(text: &str) -> Vec<Credential> {
    let mut found = shapes(text);
    let disguised = disguise::find_disguised(text);
    if !disguised.is_empty() {
        found.extend(disguised);
        found = unite_overlapping(found);
    }
    found
}

/// The same with one credential where several overlap.
fn unite_overlapping(mut found: Vec<Credential>) -> Vec<Credential> {
    found.sort_by_key(|credential| (credential.span.start, core::cmp::Reverse(credential.span.end)));
    found.dedup_by(|next, before| {
        let is_same = next.span.start < before.span.end;
        before.span.end = if is_same { before.span.end.max(next.span.end) } else { before.span.end };
        is_same
    });
    found
}

/// The credentials that are in a text as they are.
fn shapes(text: &str) -> Vec<Credential> {
    let mut found: Vec<Credential> = Vec::new();
    let mut shapes = ShapeReader::new(text);
    let mut at: usize = 0;
    while let Some(start) = next_start(text.as_bytes(), at) {
        let is_first = text.as_bytes().get(start) == Some(&b'-') || is_boundary(text.as_bytes(), start);
        match is_first.then(|| shapes.credential_at(start)).flatten() {
            Some((kind, length)) => {
                let end = start.saturating_add(length);
                found.push(Credential { kind, span: Span::new(start, end) });
                at = end;
            }
            None => at = start.saturating_add(1),
        }
    }
    found
}

/// Reads credentials at places of a text, one after the other.
///
/// Some shapes may be as long as they like, and may begin again within themselves (`sk-sk-sk-…`). If the first of them is
/// none, the ones that begin later in the same run of characters are none either: each has less of the same rest. So no
/// run is read more than once.
struct ShapeReader<'t> {
    text: &'t str,
    /// The end of the run in which no key, token of Slack or web token begins, in this order.
    none_before: [usize; 3],
}

impl<'t> ShapeReader<'t> {
    const fn new(text: &'t str) -> Self {
        Self { text, none_before: [0; 3] }
    }

    /// The credential that begins at a place, and its length in bytes. Places are asked for from left to right.
    fn credential_at(&mut self, at: usize) -> Option<(CredentialKind, usize)> {
        let text = self.text.get(at..)?;
        let (kind, length) = match text.as_bytes().first()? {
            b'A' => (CredentialKind::AwsKey, aws(text)),
            b's' => (CredentialKind::ApiKey, self.unless_known(0, at, text, api_key)),
            b'g' => (CredentialKind::GitHubToken, github(text)),
            b'x' => (CredentialKind::SlackToken, self.unless_known(1, at, text, slack)),
            b'-' => (CredentialKind::PrivateKey, key_block::key_block_length(text)),
            b'e' => (CredentialKind::WebToken, self.unless_known(2, at, text, web_token::leading_web_token)),
            _ => return None,
        };
        Some((kind, length?))
    }

    /// The length of a shape that has no end of its own, read unless its run is known to hold none.
    fn unless_known(&mut self, which: usize, at: usize, text: &str, read: fn(&str) -> Shape) -> Option<usize> {
        let none_before = self.none_before.get_mut(which).filter(|end| **end <= at)?;
        match read(text) {
            Shape::Credential(length) => Some(length),
            Shape::NoneIn(run) => {
                *none_before = at.saturating_add(run);
                None
            }
            Shape::NotBegun => None,
        }
    }
}

/// How a text begins.
enum Shape {
    /// With a credential of this many bytes.
    Credential(usize),
    /// Like one, but none begins in this many bytes.
    NoneIn(usize),
    /// Not like one.
    NotBegun,
}

impl Shape {
    /// A credential that goes to the end of `body`, or none in all of `run`, both behind a prefix.
    const fn of(prefix: usize, body: &str, run: &str, is_credential: bool) -> Self {
        match is_credential {
            true => Self::Credential(body.len().saturating_add(prefix)),
            false => Self::NoneIn(run.len().saturating_add(prefix)),
        }
    }
}

/// How many places are looked at together.
const TOGETHER: usize = 32;

/// The next place, from `from` on, of the two bytes with which a credential may begin.
fn next_start(text: &[u8], from: usize) -> Option<usize> {
    let firsts = text.get(from..)?.chunks(TOGETHER);
    let seconds = text.get(from.saturating_add(1)..)?.chunks(TOGETHER);
    let mut place = from;
    for (first, second) in firsts.zip(seconds) {
        let mut starts = first.iter().zip(second).map(|(first, second)| is_start(*first, *second));
        // All of them first: hardly ever is there one, and without a way out the compiler takes many at a time.
        if starts.clone().fold(false, |any, is_start| any | is_start) {
            return starts.position(|is_start| is_start).map(|at| place.saturating_add(at));
        }
        place = place.saturating_add(TOGETHER);
    }
    None
}

/// Whether a credential of some kind begins with these two bytes. A [`ShapeReader`] looks at the rest.
const fn is_start(first: u8, second: u8) -> bool {
    ((first == b'A') & ((second == b'K') | (second == b'S')))
        | ((first == b's') & (second == b'k'))
        | ((first == b'g') & ((second == b'h') | (second == b'i')))
        | ((first == b'x') & (second == b'o'))
        | ((first == b'-') & (second == b'-'))
        | ((first == b'e') & (second == b'y'))
}

/// Whether a word may begin here: not behind a letter, unless that is one of an escape such as `\n`.
fn is_boundary(text: &[u8], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at).copied());
    let is_escape = || matches!((before(2), before(1)), (Some(b'\\'), Some(b'n' | b'r' | b't')));
    !before(1).is_some_and(is_word_byte) || is_escape()
}

/// The text with `[redacted:aws-key]` and the like for its credentials. `None` if it has none.
#[must_use]
pub fn redact_credentials(text: &str) -> Option<String> {
    let mut clean = redact_found(text, &find_credentials(text))?;
    // The text around a removed one may make another together, such as digits on both sides of one in base64.
    for _ in 0..MOST_ROUNDS {
        match redact_found(&clean, &find_credentials(&clean)) {
            Some(cleaner) => clean = cleaner,
            None => return Some(clean),
        }
    }
    Some(String::from("[redacted]"))
}

/// The start of a text, at most `most` bytes, that holds no part of a credential which goes on behind it: a part has no
/// shape any more, and would be kept.
#[must_use]
pub fn uncut_prefix(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let near = text.get(..text.floor_char_boundary(most.saturating_add(LONGEST_CUT))).unwrap_or(text);
    let cut = find_credentials(near).into_iter().find(|one| one.span.start < most && one.span.end > most);
    let end = cut.map_or(most, |one| one.span.start);
    text.get(..text.floor_char_boundary(end)).unwrap_or_default()
}

/// How far behind a cut a credential is looked for, in bytes: most are shorter, in any disguise.
const LONGEST_CUT: usize = 4 * 1024;

/// How often what is left of a text is looked through again.
const MOST_ROUNDS: usize = 3;

/// The text with markers in these places. `None` if there are none.
fn redact_found(text: &str, found: &[Credential]) -> Option<String> {
    let (mut out, mut position) = (String::with_capacity(text.len()), 0);
    for Credential { kind, span } in found {
        out.push_str(text.get(position..span.start).unwrap_or_default());
        out.push_str(&redaction_marker(*kind));
        position = span.end;
    }
    out.push_str(text.get(position..).unwrap_or_default());
    (!found.is_empty()).then_some(out)
}

fn redaction_marker(kind: CredentialKind) -> String {
    format!("[redacted:{}]", kind.as_str())
}

/// Sixteen characters of base32 behind the prefix. Amazon's own examples end in `EXAMPLE`.
fn aws(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("AKIA").or_else(|| text.strip_prefix("ASIA"))?;
    let body = leading_run(rest, is_word_byte);
    let is_body = body.len() == 16 && body.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
    (is_body && !body.ends_with("EXAMPLE")).then_some(20)
}

/// At least twenty characters, of which sixteen in a row are letters and digits, both among them.
fn api_key(text: &str) -> Shape {
    let Some(rest) = text.strip_prefix("sk-") else { return Shape::NotBegun };
    let whole = leading_run(rest, |byte| is_word_byte(byte) || byte == b'-');
    let body = whole.trim_end_matches(['-', '_']);
    let is_random = || body.split(['-', '_']).any(|part| part.len() >= 16 && mixes_letters_and_digits(part));
    Shape::of(3, body, whole, body.len() >= 20 && is_random())
}

/// `ghp_` with 36 letters and digits, `github_pat_` with 22, `_` and 59.
fn github(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix("github_pat_") {
        let (head, tail) = leading_run(rest, is_word_byte).split_once('_')?;
        let is_body = head.len() == 22 && tail.len() == 59 && mixes_letters_and_digits(head);
        return is_body.then_some(11 + 22 + 1 + 59);
    }
    let rest = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let body = leading_run(rest, is_word_byte);
    let is_body = matches!(body.len(), 36..=251) && !body.contains('_') && mixes_letters_and_digits(body);
    is_body.then(|| body.len().saturating_add(4))
}

/// `xoxb-` and its siblings with at least twenty characters, of which ten in a row are digits.
fn slack(text: &str) -> Shape {
    let kinds = ['a', 'b', 'c', 'd', 'e', 'o', 'p', 'r', 's'];
    let rest =
        text.strip_prefix("xox").and_then(|rest| rest.strip_prefix(kinds)).and_then(|rest| rest.strip_prefix('-'));
    let Some(rest) = rest else { return Shape::NotBegun };
    let whole = leading_run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let body = whole.trim_end_matches('-');
    let is_number = |part: &str| part.len() >= 10 && part.bytes().all(|byte| byte.is_ascii_digit());
    Shape::of(5, body, whole, body.len() >= 20 && body.split('-').any(is_number))
}

/// The bytes at the start of a text that `is_wanted` takes. It takes ASCII only.
fn leading_run(text: &str, is_wanted: impl Fn(u8) -> bool) -> &str {
    let length = text.bytes().take_while(|byte| is_wanted(*byte)).count();
    text.get(..length).unwrap_or_default()
}

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether letters and digits are in it, and not one of them throughout, as in a placeholder.
fn mixes_letters_and_digits(text: &str) -> bool {
    let mut bytes = text.bytes();
    let is_varied = bytes.next().is_some_and(|first| bytes.filter(|byte| *byte != first).count() >= 8);
    is_varied && text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
