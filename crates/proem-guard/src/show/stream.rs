//! A text for a terminal while it arrives.

use alloc::string::String;

use super::{ScreenText, character_escape, host, script};

/// Shows a text on a terminal piece by piece, line by line as [`super::terminal_text`] shows each of them.
///
/// How the text is cut into pieces makes no difference, whatever is at a cut. At most two characters are held back: a
/// backslash and a carriage return, which are shown by what follows them.
#[derive(Debug, Default)]
pub struct TerminalStream {
    held: Held,
    scripts: script::Mixture,
    hosts: host::Hosts,
    /// Whether something is on the last line.
    is_line_begun: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Held {
    #[default]
    Nothing,
    Backslash,
    Return,
    BackslashAndReturn,
}

impl TerminalStream {
    /// A stream without text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece; what is to be written of the text so far beside what was given before.
    pub fn push(&mut self, piece: &str) -> ScreenText {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.held = match (self.held, c) {
                (Held::Nothing, '\\') => Held::Backslash,
                (Held::Nothing, '\r') => Held::Return,
                (Held::Backslash, '\r') => Held::BackslashAndReturn,
                (held, c) => {
                    // A line's end is no character of the line, as little as the return before it.
                    match (held, c) {
                        (Held::Backslash | Held::BackslashAndReturn, '\n') => self.write('\\', None, &mut out),
                        (Held::Nothing | Held::Return, '\n') => {}
                        (held, c) => self.release(held, Some(c), &mut out),
                    }
                    match c {
                        '\\' => Held::Backslash,
                        '\r' => Held::Return,
                        '\n' => {
                            self.end_line(&mut out);
                            Held::Nothing
                        }
                        c => {
                            self.write(c, None, &mut out);
                            Held::Nothing
                        }
                    }
                }
            };
        }
        ScreenText(out)
    }

    /// The rest, when nothing follows: the last line has its end.
    pub fn finish(mut self) -> ScreenText {
        let mut out = String::new();
        self.release(self.held, None, &mut out);
        if self.is_line_begun {
            self.end_line(&mut out);
        }
        ScreenText(out)
    }

    /// Writes what was held back before `next`, which is no line's end.
    fn release(&mut self, held: Held, next: Option<char>, out: &mut String) {
        match held {
            Held::Nothing => {}
            Held::Backslash => self.write('\\', next, out),
            Held::Return => self.write('\r', next, out),
            Held::BackslashAndReturn => {
                self.write('\\', Some('\r'), out);
                self.write('\r', next, out);
            }
        }
    }

    fn write(&mut self, c: char, next: Option<char>, out: &mut String) {
        self.is_line_begun = true;
        self.scripts.read(c, out);
        self.hosts.read(c, out);
        match character_escape(c, next) {
            Some(escape) => escape.write(out),
            None => out.push(c),
        }
    }

    fn end_line(&mut self, out: &mut String) {
        self.scripts.end_word(out);
        self.hosts.end(out);
        self.is_line_begun = false;
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec::Vec};

    use super::super::terminal_str;
    use super::*;
    use proptest::prelude::*;

    fn streamed<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let mut stream = TerminalStream::new();
        let mut out: String = pieces.into_iter().map(|piece| stream.push(piece).into_string()).collect();
        out.push_str(stream.finish().as_str());
        out
    }

    fn whole(text: &str) -> String {
        text.lines().map(|line| format!("{}\n", terminal_str(line))).collect()
    }

    #[test]
    fn a_piece_ends_anywhere() {
        for (pieces, expected) in [
            (&[][..], ""),
            (&["a"], "a\n"),
            (&["a\n"], "a\n"),
            (&["\u{1b}", "[2J"], "\\u{1b}[2J\n"),
            (&["\u{1b}[", "31", "mred"], "\\u{1b}[31mred\n"),
            (&["a\r", "\nb"], "a\nb\n"),
            (&["a\r", "b"], "a\\rb\n"),
            (&["C:\\", "new"], "C:\\\\new\n"),
            (&["C:\\", "dir"], "C:\\dir\n"),
            (&["a\\", "\r", "\nb"], "a\\\nb\n"),
            (&["p\u{430}y", "pal.com"], "p\u{430}ypal⟨mixed script: Latin+Cyrillic⟩.com\n"),
            (&["http://п", "ример.рф", "/a"], "http://пример.рф⟨host: xn--e1afmkfd.xn--p1ai⟩/a\n"),
            (&["\n", "\n"], "\n\n"),
        ] {
            assert_eq!(streamed(pieces.iter().copied()), expected, "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            text in r"(\\|\r|\n|\t|n|t|u|\{|\x1b|\[|a|п|p|é|⟨|\u{202e}|\u{200b}|:|/|@|\.|👍| ){0,40}",
            cuts in proptest::collection::vec(0usize..120, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).filter_map(|cut| text.get(cut[0]..cut[1]));
            prop_assert_eq!(streamed(pieces), whole(&text));
        }
    }
}
