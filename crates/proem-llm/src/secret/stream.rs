//! Secrets in a text that arrives piece by piece.

use core::fmt;

use super::progress::{NeedleSet, SecretProgress};
use super::{Secret, SecretFinder};

/// Takes secrets out of a text while it arrives.
///
/// A possible beginning of a secret in any form that [`super::find_secret`] knows is held back until it is decided, at most as
/// long as the longest of these forms and the space within it. Nothing else is. The way the text is cut into pieces
/// makes no difference: no text that was let through is the beginning of a secret whose end is still to come. The time
/// is linear in the text.
pub struct SecretStream<'s> {
    finder: SecretFinder<'s>,
    /// The needles, and the progress so far. `None` if there are no needles.
    search: Option<(NeedleSet, SecretProgress)>,
    /// The text that is held back.
    pending: String,
    /// Its beginning in the whole text.
    from: usize,
}

impl fmt::Debug for SecretStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Whether more may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    MayFollow,
    Over,
}

impl<'s> SecretStream<'s> {
    /// A stream without text.
    #[must_use]
    pub fn new(secrets: &'s [Secret]) -> Self {
        let finder = SecretFinder::new(secrets);
        let search = finder.search.as_ref().map(|(_, searches)| {
            let set = NeedleSet::new(searches);
            let progress = SecretProgress::new(&set);
            (set, progress)
        });
        Self { finder, search, pending: String::new(), from: 0 }
    }

    /// Takes the next piece; what of the text so far may be shown beside what was given before.
    pub fn push(&mut self, piece: &str) -> String {
        self.read(piece, Rest::MayFollow)
    }

    /// The rest, when nothing follows.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.read("", Rest::Over)
    }

    fn read(&mut self, piece: &str, rest: Rest) -> String {
        let Self { finder, search, pending, from } = self;
        let Some((set, progress)) = search else { return piece.to_owned() };
        // The shown and the read part of the pending text, in bytes of that.
        let (mut out, mut shown, mut read) = (String::with_capacity(piece.len()), 0_usize, pending.len());
        pending.push_str(piece);
        loop {
            let byte = pending.as_bytes().get(read);
            let found = match byte {
                Some(byte) => progress.push(set, *byte, from.saturating_add(read)),
                None if rest == Rest::Over => progress.end(set),
                None => None,
            };
            read = read.saturating_add(1);
            if let Some(found) = found {
                let start = found.span.start.saturating_sub(*from);
                out.push_str(pending.get(shown..start).unwrap_or_default());
                out.push_str(&secret_marker(finder, found.secret));
                // Text that arrived behind it is read again, as the text behind the marker.
                shown = found.span.end.saturating_sub(*from);
                read = shown;
                *progress = SecretProgress::new(set);
            } else if byte.is_none() {
                break;
            }
        }
        let held = progress.held_from().filter(|_| rest == Rest::MayFollow);
        let decided = held.map_or(pending.len(), |held| held.saturating_sub(*from));
        out.push_str(pending.get(shown..decided).unwrap_or_default());
        pending.drain(..decided);
        *from = from.saturating_add(decided);
        out
    }
}

/// The marker of a secret; without its name if that would give one away.
fn secret_marker(finder: &SecretFinder<'_>, secret: usize) -> String {
    let secret = finder.search.as_ref().and_then(|(searched, _)| searched.get(secret));
    let Some(secret) = secret else { return "[redacted]".to_owned() };
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

    fn two_secrets() -> [Secret; 2] {
        [Secret::new("KEY", KEY), Secret::new("OTHER", "abcdefghijklmnop")]
    }

    fn streamed<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let secrets = two_secrets();
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
        let secrets = two_secrets();
        let mut stream = SecretStream::new(&secrets);
        assert_eq!(stream.push("You "), "You ");
        assert_eq!(stream.push("can ab"), "can ");
        assert_eq!(stream.push("out"), "about");
        assert_eq!(stream.push(" \u{e9}"), " \u{e9}");
        let mut none = SecretStream::new(&[]);
        assert_eq!(none.push("abc"), "abc");
    }

    /// A stream that looks at everything it holds back again takes hours for these.
    #[test]
    fn a_hostile_stream_is_read_in_linear_time() {
        let units =
            ["%", "\\", "%25", "\\u005c", "\\u00", "\\ud83d", "a ", "a", "abcdefghijklmno", "%61", "s", " ", "%5c"];
        for unit in units {
            let text = format!("a{} abcdefghijklmnop", unit.repeat((24 << 10) / unit.len()));
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let shown = streamed(pieces.iter().map(String::as_str));
            assert!(shown.contains("[redacted:OTHER]"), "{unit:?}");
            assert!(shown == streamed([text.as_str()]), "{unit:?}");
            assert!(super::super::find_secret(&two_secrets(), shown.as_bytes()).is_none(), "{unit:?}");
        }
    }

    /// A form in which a secret may be.
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
            prop_assert!(super::super::find_secret(&two_secrets(), shown.as_bytes()).is_none(), "{:?}", shown);
        }

        #[test]
        fn other_text_stays(text in r"([A-Za-z0-9 .,%\\n\n]|sk-|abc){0,80}") {
            let is_clean = super::super::find_secret(&two_secrets(), text.as_bytes()).is_none();
            prop_assert!(!is_clean || streamed([text.as_str()]) == text);
        }
    }
}
