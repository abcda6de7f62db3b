//! A source without its comments and strings, of the same length and lines.
//!
//! A comment becomes blanks and the inside of a string [`HIDDEN`], so that what is left is code and each byte has its
//! place. Invariants: the mask is as long as the source and has its line feeds where that has them. The time grows with
//! the length alone, for what nothing closes is looked for once.

use crate::dialect::{Dialect, Escape, Lexis, Quote};

/// The replacement for a byte of a string.
pub(super) const HIDDEN: u8 = 1;

/// The most kinds of quotes of a dialect.
const MOST_QUOTES: usize = 4;

/// The longest word that ends a document within a source.
const LONGEST_LABEL: usize = 64;

pub(super) fn mask_source(source: &[u8], dialect: Dialect) -> Vec<u8> {
    let lexis = dialect.lexis();
    let mut mask = Mask {
        source,
        out: source.to_vec(),
        at: 0,
        lexis,
        given_up: [false; MOST_QUOTES],
        not_on_line: [false; MOST_QUOTES],
        has_documents: matches!(
            dialect,
            Dialect::Ruby | Dialect::Shell | Dialect::Php | Dialect::Perl | Dialect::Terraform
        ),
        labels: Vec::new(),
    };
    if dialect == Dialect::Php {
        mask.page();
    }
    while let Some(byte) = source.get(mask.at).copied() {
        mask.step(byte);
    }
    mask.out
}

struct Mask<'s> {
    source: &'s [u8],
    out: Vec<u8>,
    at: usize,
    lexis: Lexis,
    /// Quotes that nothing closes in the rest of the source.
    given_up: [bool; MOST_QUOTES],
    /// Quotes that nothing closes in the rest of the line.
    not_on_line: [bool; MOST_QUOTES],
    /// Whether documents may begin on a line of code.
    has_documents: bool,
    /// The ends of the documents that begin behind this line.
    labels: Vec<&'s [u8]>,
}

pub(super) const fn is_name_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The beginning of `wanted` in a text.
pub(super) fn find_bytes(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0_usize;
    loop {
        let at = from.saturating_add(text.get(from..)?.iter().position(|&byte| byte == first)?);
        if text.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        from = at.saturating_add(1);
    }
}

impl<'s> Mask<'s> {
    fn rest(&self) -> &'s [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> Option<u8> {
        self.source.get(self.at.checked_sub(1)?).copied()
    }

    /// Hides the next bytes, but for the first and last that stay.
    fn hide(&mut self, length: usize, (head, tail): (usize, usize), with: u8) {
        let end = self.at.saturating_add(length);
        let inside = self.at.saturating_add(head)..end.saturating_sub(tail);
        for byte in self.out.get_mut(inside).unwrap_or_default() {
            if *byte != b'\n' {
                *byte = with;
            }
        }
        self.at = end;
    }

    fn step(&mut self, byte: u8) {
        if byte == b'\n' {
            self.at = self.at.saturating_add(1);
            self.not_on_line = [false; MOST_QUOTES];
            self.documents();
            self.prose();
            return;
        }
        if let Some(length) = self.comment() {
            return self.hide(length, (0, 0), b' ');
        }
        if self.lexis.dialect == Dialect::Php && self.rest().starts_with(b"?>") {
            return self.page();
        }
        if self.has_documents && byte == b'<' && self.label() {
            return;
        }
        if let Some((length, edges)) = self.string() {
            return self.hide(length, edges, HIDDEN);
        }
        let rest = self.rest();
        let length = if is_name_character(byte) {
            let is_number = byte.is_ascii_digit();
            let is_inside = |at: usize, byte: u8| {
                is_name_character(byte)
                    || (is_number
                        && byte == b'\''
                        && rest.get(at.saturating_add(1)).is_some_and(|&next| is_name_character(next)))
            };
            let end = rest.iter().enumerate().position(|(at, &byte)| !is_inside(at, byte)).unwrap_or(rest.len());
            if self.raw(end) {
                return;
            }
            end
        } else if byte == b'\\' && rest.get(1) != Some(&b'\n') {
            2
        } else {
            1
        };
        self.at = self.at.saturating_add(length);
    }

    /// How long the comment is that begins here.
    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        if let Some((open, close)) = self.lexis.block.filter(|(open, _)| rest.starts_with(open)) {
            let (mut depth, mut at) = (1_usize, open.len());
            while depth > 0 {
                let text = rest.get(at..).unwrap_or_default();
                if text.is_empty() {
                    break;
                }
                let step = if text.starts_with(close) {
                    depth = depth.saturating_sub(1);
                    close.len()
                } else if self.lexis.nests && text.starts_with(open) {
                    depth = depth.saturating_add(1);
                    open.len()
                } else {
                    1
                };
                at = at.saturating_add(step);
            }
            return Some(at.min(rest.len()));
        }
        let mark = *self.lexis.lines.iter().find(|mark| rest.starts_with(mark))?;
        if mark == b"#" {
            // `$#`, `a#b` and PHP's attributes are none.
            let is_apart = self
                .before()
                .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b')' | b'}' | b'{'));
            if !is_apart || (self.lexis.dialect == Dialect::Php && rest.starts_with(b"#[")) {
                return None;
            }
        }
        Some(rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()))
    }

    /// How long the string is that begins here, and its quotes.
    fn string(&mut self) -> Option<(usize, (usize, usize))> {
        let rest = self.rest();
        for (number, quote) in self.lexis.quotes.iter().enumerate() {
            if !rest.starts_with(quote.open) {
                continue;
            }
            let flags = if quote.is_long { &mut self.given_up } else { &mut self.not_on_line };
            let Some(flag) = flags.get_mut(number).filter(|flag| !**flag) else { continue };
            match end_of_string(rest, quote) {
                Some(length) => return Some((length, (quote.open.len(), quote.close.len()))),
                None => *flag = true,
            }
        }
        if self.lexis.dialect == Dialect::Sql && rest.starts_with(b"$") {
            let tag =
                rest.get(1..)?.iter().take(LONGEST_LABEL).position(|&byte| !is_name_character(byte))?.saturating_add(2);
            let open = rest.get(..tag).filter(|open| open.ends_with(b"$"))?;
            if self.given_up.last() != Some(&true) {
                match find_bytes(rest.get(tag..)?, open) {
                    Some(end) => return Some((end.saturating_add(tag.saturating_mul(2)), (tag, tag))),
                    None => self.given_up = [false, false, false, true],
                }
            }
        }
        None
    }

    /// Hides a raw string of C++ whose prefix has this length. False if there is none.
    fn raw(&mut self, prefix: usize) -> bool {
        let rest = self.rest();
        let is_raw = self.lexis.dialect == Dialect::Cpp
            && rest.get(..prefix).is_some_and(|word| matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R"))
            && rest.get(prefix) == Some(&b'"')
            && self.given_up.last() != Some(&true);
        let Some(behind) = rest.get(prefix.saturating_add(1)..).filter(|_| is_raw) else { return false };
        // At most sixteen characters (ISO/IEC 14882:2020, 5.13.5).
        let Some(open) = behind.iter().take(17).position(|&byte| byte == b'(') else { return false };
        let close = [b")", behind.get(..open).unwrap_or_default(), b"\""].concat();
        match find_bytes(behind, &close) {
            Some(end) => {
                let head = prefix.saturating_add(1);
                self.hide(head.saturating_add(end).saturating_add(close.len()), (head, 1), HIDDEN);
                true
            }
            None => {
                self.given_up = [false, false, false, true];
                false
            }
        }
    }

    /// Takes the label of a document that begins on the next line: `<<EOF`, `<<-'EOF'`, `<<~EOS`, `<<<EOT`.
    fn label(&mut self) -> bool {
        let rest = self.rest();
        let (open, is_php) = (b"<<", self.lexis.dialect == Dialect::Php);
        let Some(behind) = rest.strip_prefix(open) else { return false };
        let behind = if is_php { behind.strip_prefix(b"<").unwrap_or_default() } else { behind };
        let behind = match behind {
            [b'-' | b'~', rest @ ..] => rest,
            _ => behind,
        };
        let behind = if self.lexis.dialect == Dialect::Shell { behind.trim_ascii_start() } else { behind };
        let behind = match behind {
            [b'\'' | b'"' | b'\\', rest @ ..] => rest,
            _ => behind,
        };
        let end = behind.iter().take(LONGEST_LABEL).position(|&byte| !is_name_character(byte));
        let label = end.and_then(|end| behind.get(..end)).unwrap_or_default();
        if label.first().is_none_or(|byte| !(byte.is_ascii_uppercase() || *byte == b'_')) || self.labels.len() > 3 {
            return false;
        }
        self.labels.push(label);
        let used = rest.len().saturating_sub(behind.len()).saturating_add(label.len());
        self.at = self.at.saturating_add(used);
        if matches!(self.source.get(self.at), Some(b'\'' | b'"')) {
            self.at = self.at.saturating_add(1);
        }
        true
    }

    /// Hides the documents whose labels were on the line that just ended.
    fn documents(&mut self) {
        for label in core::mem::take(&mut self.labels) {
            let rest = self.rest();
            let mut length = 0_usize;
            let end = rest.split_inclusive(|&byte| byte == b'\n').find_map(|line| {
                let text = line.trim_ascii();
                let is_end = text
                    .strip_prefix(label)
                    .is_some_and(|behind| behind.first().is_none_or(|byte| !is_name_character(*byte)));
                if is_end {
                    return Some(length);
                }
                length = length.saturating_add(line.len());
                None
            });
            match end {
                Some(length) => {
                    self.hide(length, (0, 0), HIDDEN);
                    let end = self.rest().iter().position(|&byte| byte == b'\n').unwrap_or(self.rest().len());
                    self.hide(end, (0, 0), HIDDEN);
                }
                // A text that only looks like one would hide the rest of the source.
                None => self.has_documents = false,
            }
        }
    }

    /// Hides documentation between lines: Ruby's `=begin` and Perl's `=pod`, up to `=end` and `=cut`.
    fn prose(&mut self) {
        let close: &[u8] = match self.lexis.dialect {
            Dialect::Ruby if self.rest().starts_with(b"=begin") => b"\n=end",
            Dialect::Perl if self.rest().starts_with(b"=") => b"\n=cut",
            _ => return,
        };
        let length = find_bytes(self.rest(), close).map_or(self.rest().len(), |at| at.saturating_add(close.len()));
        self.hide(length, (0, 0), b' ');
    }

    /// Hides what is outside of `<?php … ?>`.
    fn page(&mut self) {
        let rest = self.rest();
        match find_bytes(rest, b"<?") {
            Some(at) => {
                self.hide(at, (0, 0), HIDDEN);
                let mark = if self.rest().starts_with(b"<?php") { 5 } else { 2 };
                self.hide(mark, (0, 0), b' ');
            }
            // A source without any mark is code.
            None if self.at == 0 => {}
            None => self.hide(rest.len(), (0, 0), HIDDEN),
        }
    }
}

/// How long a string is with its quotes. `None` if it doesn't end.
fn end_of_string(text: &[u8], quote: &Quote) -> Option<usize> {
    let mut at = quote.open.len();
    loop {
        let rest = text.get(at..)?;
        let first = *rest.first()?;
        if rest.starts_with(quote.close) {
            let end = at.saturating_add(quote.close.len());
            let is_doubled = quote.escape == Escape::Doubled && text.get(end..)?.starts_with(quote.close);
            if !is_doubled {
                return Some(end);
            }
            at = end.saturating_add(quote.close.len());
            continue;
        }
        if first == b'\n' && !quote.is_long {
            return None;
        }
        at = at.saturating_add(if first == b'\\' && quote.escape == Escape::Backslash { 2 } else { 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, source: &str, expected: &str) {
        let masked = String::from_utf8(mask_source(source.as_bytes(), dialect)).unwrap().replace('\u{1}', ".");
        assert_eq!(masked, expected, "{source}");
    }

    #[test]
    fn comments_become_blanks_and_strings_hidden() {
        check(Dialect::C, "a(\"{\\\"\", '}'); // {\n/* { */ b", "a(\"...\", '.');     \n        b");
        check(Dialect::C, "#error don't\nint a; char *b = \"x;\n", "#error don't\nint a; char *b = \"x;\n");
        check(Dialect::Cpp, "x = R\"z(\n}\")z\"; 1'000", "x = R\"..\n....\"; 1'000");
        check(Dialect::Kotlin, "/* a /* b */ c */ d", "                  d");
        check(Dialect::CSharp, "@\"\\\" + @\"a\"\"b\n{\"", "@\".\" + @\"....\n.\"");
        check(
            Dialect::Shell,
            "a='x # y' # {\ncat <<'EOF' | b\n}\nEOF\nc $#",
            "a='.....'    \ncat <<'EOF' | b\n.\n...\nc $#",
        );
        check(
            Dialect::Ruby,
            "a = <<~SQL\n def x\nSQL\n=begin\ndef y\n=end\nb << c",
            "a = <<~SQL\n......\n...\n      \n     \n    \nb << c",
        );
        check(Dialect::Php, "don't <?php a('{'); ?> { <? b", "......      a('.'); .....   b");
        check(Dialect::Sql, "create $f$ ; $f$; 'a''b;'", "create $f$...$f$; '.....'");
    }

    #[test]
    fn an_open_end_hides_nothing_behind_it() {
        check(Dialect::Ruby, "a = <<NEVER\ndef b\n", "a = <<NEVER\ndef b\n");
        check(Dialect::Kotlin, "val a = \"\"\"\nfun b", "val a = \"\"\"\nfun b");
        check(Dialect::Swift, "a /* b", "a     ");
    }
}
