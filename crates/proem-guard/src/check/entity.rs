//! Character references of HTML.

use alloc::string::String;

/// Named references that stand for ASCII punctuation, blanks or nothing visible: what an address or
/// a word can be cut with (HTML Standard, section 13.5).
const NAMED: [(&str, char); 58] = [
    ("amp", '&'),
    ("AMP", '&'),
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("NonBreakingSpace", '\u{a0}'),
    ("shy", '\u{ad}'),
    ("colon", ':'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("period", '.'),
    ("commat", '@'),
    ("comma", ','),
    ("semi", ';'),
    ("lpar", '('),
    ("rpar", ')'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("lcub", '{'),
    ("lbrace", '{'),
    ("rcub", '}'),
    ("rbrace", '}'),
    ("excl", '!'),
    ("quest", '?'),
    ("num", '#'),
    ("percnt", '%'),
    ("equals", '='),
    ("plus", '+'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("ast", '*'),
    ("midast", '*'),
    ("grave", '`'),
    ("DiacriticalGrave", '`'),
    ("verbar", '|'),
    ("vert", '|'),
    ("VerticalLine", '|'),
    ("Hat", '^'),
    ("dollar", '$'),
    ("hyphen", '\u{2010}'),
    ("dash", '\u{2010}'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("zwnj", '\u{200c}'),
    ("zwj", '\u{200d}'),
    ("ZeroWidthSpace", '\u{200b}'),
    ("NoBreak", '\u{2060}'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("ensp", '\u{2002}'),
];

/// Those that need no semicolon.
const LEGACY: [&str; 11] = ["amp", "AMP", "lt", "LT", "gt", "GT", "quot", "QUOT", "nbsp", "shy", "pound"];

/// The reference at the start of a text: its length in bytes and what it stands for.
pub(super) fn read(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('&')?;
    if let Some(rest) = rest.strip_prefix('#') {
        return numeric(rest).map(|(len, c)| (len.saturating_add(2), String::from(c)));
    }
    let len = rest.bytes().take(24).take_while(u8::is_ascii_alphanumeric).count();
    let name = rest.get(..len)?;
    if rest.get(len..)?.starts_with(';') {
        let (_, c) = NAMED.iter().find(|(known, _)| *known == name)?;
        return Some((len.saturating_add(2), String::from(*c)));
    }
    let legacy = LEGACY.iter().find(|legacy| name.starts_with(**legacy))?;
    let (_, c) = NAMED.iter().find(|(known, _)| known == legacy)?;
    Some((legacy.len().saturating_add(1), String::from(*c)))
}

/// `65;` or `x41;`, the semicolon optional, behind `&#`.
fn numeric(text: &str) -> Option<(usize, char)> {
    let (radix, digits, frame) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (16, digits, 1_usize),
        None => (10, text, 0),
    };
    let len = digits.chars().take_while(|c| c.is_digit(radix)).count();
    let code = digits.get(..len)?.trim_start_matches('0');
    let c = u32::from_str_radix(code, radix).ok().and_then(char::from_u32)?;
    let semicolon = usize::from(digits.get(len..)?.starts_with(';'));
    Some((frame.saturating_add(len).saturating_add(semicolon), c))
}
