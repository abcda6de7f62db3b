//! Character references of HTML (WHATWG HTML, section 13.2.5.72 and those behind it).

use super::draft::{DerivedReading, ReadingDraft, ReadingSource};
use proem_text::Span;

/// The text with its character references decoded.
pub(super) fn read_entities(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut draft = ReadingDraft::new(source);
    for (place, c) in references(source.text, 0) {
        draft.replace(place, c.encode_utf8(&mut [0; 4]));
    }
    draft.finish()
}

/// The references of a text that starts at `offset`, and what they represent.
pub(super) fn references(text: &str, offset: usize) -> impl Iterator<Item = (Span, char)> {
    let mut at = 0usize;
    core::iter::from_fn(move || {
        loop {
            let start = at.saturating_add(text.get(at..)?.find('&')?);
            let Some((c, length)) = reference(text.get(start..)?) else {
                at = start.saturating_add(1);
                continue;
            };
            at = start.saturating_add(length);
            return Some((Span::new(offset.saturating_add(start), offset.saturating_add(at)), c));
        }
    })
}

/// The names that need no semicolon, of those that an address or a word can be cut with.
const OLD_NAMES: [&str; 11] = ["amp", "AMP", "lt", "LT", "gt", "GT", "quot", "QUOT", "nbsp", "shy", "pound"];

/// The most digits that are read: more represent no character.
const MOST_DIGITS: usize = 16;

/// The longest name that is read.
const LONGEST_NAME: usize = 16;

/// The character of a reference at the start, and its length.
pub(crate) fn reference(text: &str) -> Option<(char, usize)> {
    let behind = text.strip_prefix('&')?;
    let (digits, radix, before) = if let Some(rest) = behind.strip_prefix("#x").or_else(|| behind.strip_prefix("#X")) {
        (rest, 16, 3)
    } else if let Some(rest) = behind.strip_prefix('#') {
        (rest, 10, 2)
    } else {
        return named_character(behind);
    };
    let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
    let count = digits.bytes().take_while(is_digit).count();
    let number = digits.get(..count).filter(|digits| !digits.is_empty())?;
    let number = number.trim_start_matches('0');
    let code = if number.len() > MOST_DIGITS { u64::MAX } else { u64::from_str_radix(number, radix).unwrap_or(0) };
    let end = usize::from(digits.as_bytes().get(count) == Some(&b';'));
    Some((numbered_character(code), count.saturating_add(before).saturating_add(end)))
}

/// The character of a number, as section 13.2.5.80 says.
fn numbered_character(code: u64) -> char {
    // The order of windows-1252, which old pages mean by these numbers.
    const OLD: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    let old = code.checked_sub(0x80).and_then(|index| OLD.get(usize::try_from(index).ok()?));
    let c = old.copied().or_else(|| char::from_u32(u32::try_from(code).ok()?));
    c.filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The character of a name, which ends with a semicolon. A few old names need none.
fn named_character(behind: &str) -> Option<(char, usize)> {
    let length = behind.bytes().take(LONGEST_NAME).take_while(u8::is_ascii_alphanumeric).count();
    let name = behind.get(..length)?;
    if behind.as_bytes().get(length) == Some(&b';') {
        let c = look_up_entity(name).or_else(|| styled_character(name))?;
        return Some((c, length.saturating_add(2)));
    }
    let old = OLD_NAMES.iter().find(|old| name.starts_with(**old))?;
    Some((look_up_entity(old)?, old.len().saturating_add(1)))
}

/// `&Afr;`, `&ascr;`, `&Aopf;`: letters in another style, given plain.
fn styled_character(name: &str) -> Option<char> {
    let letter = name.strip_suffix("fr").or_else(|| name.strip_suffix("scr")).or_else(|| name.strip_suffix("opf"))?;
    let mut chars = letter.chars();
    chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
}

fn look_up_entity(name: &str) -> Option<char> {
    if let Some(index) = LATIN_1.iter().position(|known| *known == name) {
        return u32::try_from(index).ok().and_then(|index| char::from_u32(index.saturating_add(0xa0)));
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

/// The names of U+00A0 to U+00FF, in order.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo", "not", "shy",
    "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot", "cedil", "sup1", "ordm",
    "raquo", "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig",
    "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve",
    "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN",
    "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc",
    "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml",
    "divide", "oslash", "ugrave", "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// Names of ASCII signs, of spaces and of what is frequent in mails and pages, of the 2,231 in
/// section 13.5.
const NAMES: [(&str, char); 96] = [
    ("amp", '&'),
    ("AMP", '&'),
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("apos", '\''),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("excl", '!'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("lpar", '('),
    ("rpar", ')'),
    ("ast", '*'),
    ("midast", '*'),
    ("plus", '+'),
    ("comma", ','),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("semi", ';'),
    ("equals", '='),
    ("quest", '?'),
    ("commat", '@'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("bsol", '\\'),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("Hat", '^'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("grave", '`'),
    ("DiacriticalGrave", '`'),
    ("lcub", '{'),
    ("lbrace", '{'),
    ("verbar", '|'),
    ("vert", '|'),
    ("VerticalLine", '|'),
    ("rcub", '}'),
    ("rbrace", '}'),
    ("fjlig", 'f'),
    ("NonBreakingSpace", '\u{a0}'),
    ("ensp", '\u{2002}'),
    ("emsp", '\u{2003}'),
    ("emsp13", '\u{2004}'),
    ("emsp14", '\u{2005}'),
    ("numsp", '\u{2007}'),
    ("puncsp", '\u{2008}'),
    ("thinsp", '\u{2009}'),
    ("ThinSpace", '\u{2009}'),
    ("hairsp", '\u{200a}'),
    ("VeryThinSpace", '\u{200a}'),
    ("ZeroWidthSpace", '\u{200b}'),
    ("zwnj", '\u{200c}'),
    ("zwj", '\u{200d}'),
    ("lrm", '\u{200e}'),
    ("rlm", '\u{200f}'),
    ("NoBreak", '\u{2060}'),
    ("InvisibleTimes", '\u{2062}'),
    ("it", '\u{2062}'),
    ("InvisibleComma", '\u{2063}'),
    ("ic", '\u{2063}'),
    ("af", '\u{2061}'),
    ("hyphen", '\u{2010}'),
    ("dash", '\u{2010}'),
    ("ndash", '\u{2013}'),
    ("mdash", '\u{2014}'),
    ("lsquo", '\u{2018}'),
    ("rsquo", '\u{2019}'),
    ("sbquo", '\u{201a}'),
    ("ldquo", '\u{201c}'),
    ("rdquo", '\u{201d}'),
    ("bdquo", '\u{201e}'),
    ("lsaquo", '\u{2039}'),
    ("rsaquo", '\u{203a}'),
    ("bull", '\u{2022}'),
    ("hellip", '\u{2026}'),
    ("mldr", '\u{2026}'),
    ("euro", '\u{20ac}'),
    ("trade", '\u{2122}'),
    ("larr", '\u{2190}'),
    ("rarr", '\u{2192}'),
    ("check", '\u{2713}'),
    ("inodot", '\u{131}'),
    ("imath", '\u{131}'),
    ("jmath", '\u{237}'),
    ("OElig", '\u{152}'),
    ("oelig", '\u{153}'),
    ("Scaron", '\u{160}'),
    ("scaron", '\u{161}'),
    ("minus", '\u{2212}'),
];
