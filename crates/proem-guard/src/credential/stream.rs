//! Credentials in a text that arrives piece by piece.

use alloc::{format, string::String};

use super::{ShapeReader, is_word_byte, key_block};

/// The openings of a credential other than a block of lines, and the most bytes that may follow before that is decided.
const OPENINGS: [(&str, usize); 11] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("sk-", usize::MAX),
    ("ghp_", 252),
    ("gho_", 252),
    ("ghu_", 252),
    ("ghs_", 252),
    ("ghr_", 252),
    ("github_pat_", 83),
    ("xox", usize::MAX),
    ("eyJ", usize::MAX),
];

/// Takes credentials out of a text while it arrives.
///
/// A possible beginning of one is held back until that is decided, and nothing else is. The way the text is cut into
/// pieces makes no difference.
#[derive(Debug, Default)]
pub struct CredentialStream {
    /// The text that is held back.
    pending: String,
    /// The last bytes that were decided, by which the beginning of a word is told.
    before: [u8; 2],
    /// As long as what is held back is one word, up to how many bytes nothing is decided.
    undecided_to: usize,
}

/// Whether more may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    MayFollow,
    Over,
}

impl CredentialStream {
    /// A stream without text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece; what of the text so far may be shown beside what was given before.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.pending.push(c);
            // Within a word or a block all of it would be looked at again for each of its characters.
            let is_same_word = is_credential_character(c) && self.pending.len() <= self.undecided_to;
            if !is_same_word && !key_block::stays_open(&self.pending, c) {
                self.settle(Rest::MayFollow, &mut out);
            }
        }
        out
    }

    /// The rest, when nothing follows.
    pub fn finish(mut self) -> String {
        let mut out = String::new();
        self.settle(Rest::Over, &mut out);
        out
    }

    fn settle(&mut self, rest: Rest, out: &mut String) {
        let pending = core::mem::take(&mut self.pending);
        let (mut at, mut shapes, mut open) = (0_usize, ShapeReader::new(&pending), OpenWords::new(&pending));
        self.undecided_to = 0;
        while let Some((left, first)) = pending.get(at..).and_then(|left| Some((left, left.chars().next()?))) {
            let may_begin = first == '-' || (matches!(first, 'A' | 's' | 'g' | 'x' | 'e') && self.is_boundary());
            if may_begin && rest == Rest::MayFollow {
                if let Some(most) = open.most_at(at) {
                    self.undecided_to = most;
                    break;
                }
                if key_block::is_open(left) {
                    break;
                }
            }
            let length = match may_begin.then(|| shapes.credential_at(at)).flatten() {
                Some((kind, length)) => {
                    out.push_str(&format!("[redacted:{}]", kind.as_str()));
                    length
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            for byte in left.bytes().take(length) {
                self.before = [self.before[1], byte];
            }
            at = at.saturating_add(length);
        }
        self.pending = pending.get(at..).map(String::from).unwrap_or_default();
    }

    /// As [`super::is_boundary`].
    const fn is_boundary(&self) -> bool {
        let [second, last] = self.before;
        !is_word_byte(last) || (second == b'\\' && matches!(last, b'n' | b'r' | b't'))
    }
}

/// Looks at places of a text, from left to right, for words whose end is still to come.
struct OpenWords<'t> {
    text: &'t str,
    /// The end of the last word that was read.
    end: usize,
}

impl<'t> OpenWords<'t> {
    const fn new(text: &'t str) -> Self {
        Self { text, end: 0 }
    }

    /// If what follows the text decides whether a credential begins here, or where it ends: the most bytes from here on
    /// for which that remains so.
    fn most_at(&mut self, at: usize) -> Option<usize> {
        let left = self.text.get(at..)?;
        let (opening, most) =
            OPENINGS.iter().find(|(opening, _)| left.starts_with(opening) || opening.starts_with(left))?;
        if left.len() < opening.len() {
            return Some(0);
        }
        if self.end <= at {
            self.end =
                left.find(|c| !is_credential_character(c)).map_or(self.text.len(), |length| at.saturating_add(length));
        }
        let most = opening.len().saturating_add(*most);
        (self.end == self.text.len() && left.len() <= most).then_some(most)
    }
}

/// Whether a character may be in a credential that is a word.
const fn is_credential_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use alloc::{borrow::ToOwned, string::ToString, vec::Vec};

    use super::super::redact_credentials;
    use super::*;
    use proptest::prelude::*;

    fn streamed<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let mut stream = CredentialStream::new();
        let mut out: String = pieces.into_iter().map(|piece| stream.push(piece)).collect();
        out.push_str(&stream.finish());
        out
    }

    fn by_character(text: &str) -> String {
        let pieces: Vec<String> = text.chars().map(|c| c.to_string()).collect();
        streamed(pieces.iter().map(String::as_str))
    }

    #[test]
    fn the_whole_is_what_the_whole_is_made_of() {
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let block = format!("-----BEGIN PRIVATE KEY-----\n{key}\n{key}\n-----END PRIVATE KEY-----");
        for text in [
            String::new(),
            "say so, example: as ever".to_owned(),
            "the key is AKIAIOSFODNN7ABCDEFG, and asks".to_owned(),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "k=sk-ant-api03-0123456789abcdefABCDEF and sk-learn, task-force".to_owned(),
            "ghp_0123456789abcdefghijABCDEFGHIJ012345 ghost xoxb-1234567890-abcdefghijklmnop.".to_owned(),
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U ok"
                .to_owned(),
            format!("a\n{block}\nb - c -- d --- e"),
            format!("{block}{block}"),
            "-----BEGIN PRIVATE KEY-----\nis how it begins".to_owned(),
            format!("-----BEGIN PRIVATE KEY-----\n{key}\n{key}\n"),
            format!(
                "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n\n{key}\n-----END PRIVATE KEY-----"
            ),
            format!("-----BEGIN PRIVATE KEY-----{key}é_{key}-----"),
            "-----BEGIN PRIVATE KEY-----AKIA0A00A0AaAAAAA0AAAAAAaa0a000AAaA0aPRIVATE KEYghp_PRIVATE KEY-----"
                .to_owned(),
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----".to_owned(),
        ] {
            let whole = redact_credentials(&text).unwrap_or_else(|| text.clone());
            assert_eq!(streamed([text.as_str()]), whole, "{text}");
            assert_eq!(by_character(&text), whole, "{text}");
        }
    }

    /// A quadratic reader takes hours for these.
    #[test]
    fn a_hostile_stream_is_read_in_linear_time() {
        for unit in [
            "sk-",
            "sk-a",
            "a",
            "xoxb-1-",
            "eyJ-",
            "eyJ.",
            "-----BEGIN PRIVATE KEY-----\n",
            "a-",
            "ghp_-",
            "-",
            "AKIA-",
        ] {
            for opening in ["", "sk-", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\n"] {
                let text = format!("{opening}{} end", unit.repeat((256 << 10) / unit.len()));
                let whole = redact_credentials(&text).unwrap_or_else(|| text.clone());
                assert!(by_character(&text) == whole, "{opening:?} {unit:?}");
            }
        }
    }

    #[test]
    fn only_what_may_begin_one_is_held_back() {
        let mut stream = CredentialStream::new();
        assert_eq!(stream.push("Hello"), "Hello");
        assert_eq!(stream.push(" s"), " ");
        assert_eq!(stream.push("o"), "so");
        assert_eq!(stream.push(" sk-ant-012"), " ");
        assert_eq!(stream.push(" "), "sk-ant-012 ");
        assert_eq!(stream.finish(), "");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            text in r"(sk-|AKIA|ghp_|xoxb-|eyJ|-----BEGIN |PRIVATE KEY|-----|-----END |[A-Za-z0-9]{1,24}|\n| |\\n|é){0,24}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).filter_map(|cut| text.get(cut[0]..cut[1]));
            let shown = streamed(pieces);
            prop_assert_eq!(&shown, &by_character(&text));
            prop_assert!(super::super::find_credentials(&shown).is_empty(), "{}", shown);
        }
    }
}
