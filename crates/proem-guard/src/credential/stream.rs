//! Credentials in a text that arrives piece by piece.

use alloc::{format, string::String};

use super::{begins, is_word, key_block, run};

/// What begins a credential but a block of lines, and the most bytes that may follow before that is decided.
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
/// What may be the beginning of one is held back until that is decided, and nothing else is. How the text is cut into
/// pieces makes no difference.
#[derive(Debug, Default)]
pub struct CredentialStream {
    /// What is held back.
    pending: String,
    /// The last bytes that were decided, by which the beginning of a word is told.
    before: [u8; 2],
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
            // Within a block every line would be looked at again for each of its characters.
            if !key_block::goes_on(&self.pending, c) {
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
        let mut left = pending.as_str();
        while let Some(first) = left.chars().next() {
            let may_begin = first == '-' || (matches!(first, 'A' | 's' | 'g' | 'x' | 'e') && self.is_boundary());
            if may_begin && rest == Rest::MayFollow && is_open(left) {
                break;
            }
            let length = match may_begin.then(|| begins(left)).flatten() {
                Some((kind, length)) => {
                    out.push_str(&format!("[redacted:{}]", kind.as_str()));
                    length
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            let (decided, others) = left.split_at_checked(length).unwrap_or((left, ""));
            for byte in decided.bytes() {
                self.before = [self.before[1], byte];
            }
            left = others;
        }
        self.pending = String::from(left);
    }

    /// As [`super::is_boundary`].
    const fn is_boundary(&self) -> bool {
        let [second, last] = self.before;
        !is_word(last) || (second == b'\\' && matches!(last, b'n' | b'r' | b't'))
    }
}

/// Whether what follows decides if this begins a credential, or where it ends.
fn is_open(text: &str) -> bool {
    let is_part = |byte: u8| is_word(byte) || matches!(byte, b'-' | b'.');
    let word = OPENINGS.iter().any(|(opening, most)| match text.strip_prefix(opening) {
        Some(rest) => rest.len() <= *most && run(rest, is_part).len() == rest.len(),
        None => opening.starts_with(text),
    });
    word || key_block::is_open(text)
}

#[cfg(test)]
mod tests {
    use alloc::{borrow::ToOwned, string::ToString, vec::Vec};

    use super::super::redact;
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
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----".to_owned(),
        ] {
            let whole = redact(&text).unwrap_or_else(|| text.clone());
            assert_eq!(streamed([text.as_str()]), whole, "{text}");
            assert_eq!(by_character(&text), whole, "{text}");
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
            prop_assert!(super::super::find(&shown).is_empty(), "{}", shown);
        }
    }
}
