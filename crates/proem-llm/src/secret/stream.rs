//! Secrets in a text that arrives piece by piece.

use super::{Secret, SecretFinder};

/// Takes secrets out of a text while it arrives.
///
/// What may be the beginning of a secret in any form that [`super::find`] knows is held back until it is decided, at
/// most as long as the longest of these forms and the space within it; nothing else is. How the text is cut into pieces
/// makes no difference: nothing that was let through is the beginning of a secret whose end is still to come.
#[derive(Debug)]
pub struct SecretStream<'s> {
    finder: SecretFinder<'s>,
    /// What is held back.
    pending: String,
}

impl<'s> SecretStream<'s> {
    /// A stream without text.
    #[must_use]
    pub fn new(secrets: &'s [Secret]) -> Self {
        Self { finder: SecretFinder::new(secrets), pending: String::new() }
    }

    /// Takes the next piece; what of the text so far may be shown beside what was given before.
    pub fn push(&mut self, piece: &str) -> String {
        if !self.finder.is_needed() {
            return piece.to_owned();
        }
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.pending.push(c);
            // Space decides nothing: it may stand within a secret.
            if !c.is_ascii_whitespace() || self.pending.len() == 1 {
                self.settle(&mut out);
            }
        }
        out
    }

    /// The rest, when nothing follows.
    #[must_use]
    pub fn finish(self) -> String {
        self.pending
    }

    fn settle(&mut self, out: &mut String) {
        if let Some(secret) = self.finder.find(self.pending.as_bytes()) {
            out.push_str(self.pending.get(..self.start()).unwrap_or_default());
            out.push_str(&marker(&self.finder, secret));
            self.pending.clear();
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let mut left = pending.as_str();
        while let Some(first) = left.chars().next() {
            if !first.is_ascii_whitespace() && self.finder.may_begin(left.as_bytes()) {
                break;
            }
            out.push(first);
            left = left.get(first.len_utf8()..).unwrap_or_default();
        }
        left.clone_into(&mut self.pending);
    }

    /// Where the secret begins that the text ends with.
    fn start(&self) -> usize {
        let holds = |from: &usize| {
            let rest = self.pending.get(*from..).unwrap_or_default();
            self.finder.find(rest.as_bytes()).is_some()
        };
        self.pending.char_indices().map(|(at, _)| at).take_while(holds).last().unwrap_or(0)
    }
}

/// What stands for a secret; without its name if that would give one away.
fn marker(finder: &SecretFinder<'_>, secret: &Secret) -> String {
    let named = format!("[redacted:{}]", secret.name());
    if finder.find(named.as_bytes()).is_some() { "[redacted]".to_owned() } else { named }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-ant/api03+\"q\\0123456789";

    fn secrets() -> [Secret; 2] {
        [Secret::new("KEY", KEY), Secret::new("OTHER", "abcdefghijklmnop")]
    }

    fn streamed<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let secrets = secrets();
        let mut stream = SecretStream::new(&secrets);
        let mut out: String = pieces.into_iter().map(|piece| stream.push(piece)).collect();
        out.push_str(&stream.finish());
        out
    }

    #[test]
    fn a_secret_is_taken_out() {
        for (text, expected) in [
            ("", ""),
            ("nothing of the kind: 100% \\ sk-ant, abc", "nothing of the kind: 100% \\ sk-ant, abc"),
            ("the key is sk-ant/api03+\"q\\0123456789.", "the key is [redacted:KEY]."),
            ("xabcdefghijklmnopx", "x[redacted:OTHER]x"),
            ("a b c d e f g h i j k l m n o p q", "[redacted:OTHER] q"),
            ("ABCDEFGHIJKLMNOP", "[redacted:OTHER]"),
            ("ponmlkjihgfedcba!", "[redacted:OTHER]!"),
            (r"abcdefgh\u0069jklmnop", "[redacted:OTHER]"),
            ("%2561bcdefghijklmnop", "[redacted:OTHER]"),
            ("abcdefghijklmno", "abcdefghijklmno"),
            ("abcabcdefghijklmnop", "abc[redacted:OTHER]"),
        ] {
            assert_eq!(streamed([text]), expected, "{text}");
        }
    }

    #[test]
    fn only_what_may_begin_one_is_held_back() {
        let secrets = secrets();
        let mut stream = SecretStream::new(&secrets);
        assert_eq!(stream.push("You "), "You ");
        assert_eq!(stream.push("can ab"), "can ");
        assert_eq!(stream.push("out"), "about");
        assert_eq!(stream.push(" \u{e9}"), " \u{e9}");
        let mut none = SecretStream::new(&[]);
        assert_eq!(none.push("abc"), "abc");
    }

    /// A form in which a secret may stand.
    fn form(value: &str, which: usize) -> String {
        match which {
            0 => value.to_owned(),
            1 => value.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            2 => value.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect(),
            3 => STANDARD.encode(value),
            4 => URL_SAFE_NO_PAD.encode(format!("x{value}y")),
            5 => value.bytes().map(|byte| format!("{byte:02X}")).collect(),
            6 => value.chars().rev().collect(),
            7 => value.to_ascii_uppercase(),
            8 => value.chars().map(|c| format!("{c}\n ")).collect(),
            9 => form(&form(value, 1), 1),
            10 => form(&form(value, 1), 2),
            _ => form(&form(value, 2), 1),
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_no_secret_is_let_through(
            before in r"(abc|sk-|%|\\|\\u00|61|[a-z]| |\n|é){0,12}", after in r"(abc|nop|%6|\\u|[a-z]| |é){0,12}",
            which in 0usize..12, cuts in vec(0usize..900, 0..8), other in any::<bool>(),
        ) {
            let value = if other { "abcdefghijklmnop" } else { KEY };
            let text = format!("{before}{} {after}", form(value, which));
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let shown = streamed(cuts.windows(2).filter_map(|cut| text.get(cut[0]..cut[1])));
            prop_assert_eq!(&shown, &streamed([text.as_str()]));
            prop_assert!(super::super::find(&secrets(), shown.as_bytes()).is_none(), "{:?}", shown);
        }

        #[test]
        fn other_text_stays(text in r"([A-Za-z0-9 .,%\\n\n]|sk-|abc){0,80}") {
            let is_clean = super::super::find(&secrets(), text.as_bytes()).is_none();
            prop_assert!(!is_clean || streamed([text.as_str()]) == text);
        }
    }
}
