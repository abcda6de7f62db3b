//! Texts that no book and no program resembles.

use super::{Make, Random};

/// A kind's name, how many texts it has, and how each is made.
type Kind = (&'static str, usize, fn(&mut Random) -> String);

/// Each with its name and how many texts there are.
pub(super) fn special_kinds() -> Vec<(String, usize, Make)> {
    const KINDS: &[Kind] = &[
        ("emoji", 120, emoji),
        ("control characters", 100, controls),
        ("white space", 160, white_space),
        ("digits", 100, digits),
        ("contractions", 160, contractions),
        ("combining marks", 120, marks),
        ("capitals", 120, capitals),
        ("symbols", 120, symbols),
        ("gibberish", 120, gibberish),
        ("mixed scripts", 120, mixed),
        ("random Unicode", 200, random_unicode),
        ("random first plane", 120, random_first_plane),
        ("long runs", 100, long_runs),
        ("repetitions", 100, repetitions),
    ];
    KINDS.iter().map(|(kind, count, make)| ((*kind).to_owned(), *count, Box::new(make) as Make)).collect()
}

/// Items one after the other, as many as a number between two.
fn several(random: &mut Random, least: usize, most: usize, item: impl Fn(&mut Random) -> String) -> String {
    (0..random.between(least, most)).map(|_| item(random)).collect()
}

fn one_of(items: &'static [&'static str]) -> impl Fn(&mut Random) -> String {
    move |random| (random.pick(items)).to_owned()
}

fn emoji(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "😀",
        "👍🏽",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "🇩🇪",
        "🇯🇵",
        "🇺",
        "❤️",
        "☃",
        "☃️",
        "1️⃣",
        "#️⃣",
        "🧑🏿‍🚀",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "\u{200D}",
        "\u{FE0F}",
        "🫠",
        "🪿",
        " ",
        " ",
        "\n",
        "a",
        "OK",
        "!",
        "🥲🥲🥲",
        "♂️",
        "™",
        "©️",
    ];
    several(random, 1, 60, one_of(ITEMS))
}

fn controls(random: &mut Random) -> String {
    several(random, 1, 80, |random| match random.below(8) {
        0 => (random.pick(&["word", " a", "\n", "<|endoftext|>", "<|fim_prefix|>", "\u{FEFF}", "\u{FFFD}"])).to_owned(),
        1 => random
            .pick(&['\u{200B}', '\u{202E}', '\u{2066}', '\u{AD}', '\u{E0041}', '\u{FFFE}', '\u{10FFFF}'])
            .to_string(),
        2 => random.character(0xA0).map_or_else(String::new, String::from),
        _ => random.character(0x20).map_or_else(String::new, String::from),
    })
}

fn white_space(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        " ", " ", " ", "  ", "   ", "\t", "\n", "\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{85}", "\u{A0}", "\u{1680}",
        "\u{2003}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{180E}", "\u{200B}", "a", "B", "1",
        "!", "/", "'s", "é",
    ];
    several(random, 1, 70, |random| random.pick(ITEMS).repeat(random.between(1, 4)))
}

fn digits(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "0", "1", "2", "9", "42", "2024", ".", ",", "-", " ", "e", "x", "٣", "५", "৭", "Ⅷ", "½", "²", "①", "百", "𝟙",
        "\n",
    ];
    several(random, 1, 80, one_of(ITEMS))
}

fn contractions(random: &mut Random) -> String {
    const WORDS: &[&str] = &[
        "I", "we", "WE", "don", "o", "x", "é", "É", "日", "ʰ", "ǅ", "1", "", " ", "\u{301}", "!", "A\u{301}", "'", "’",
        "\n",
    ];
    const ENDINGS: &[&str] = &[
        "'s", "'S", "'ſ", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'Ve", "'m", "'M", "'ll", "'LL", "'lL", "'d", "'D",
        "'", "''s", "'r", "'v", "'l", "'sx", "'rex", "'K", "’s", " 's", "\n't", "'ş",
    ];
    several(random, 1, 40, |random| {
        let word = random.pick(WORDS);
        let space = random.pick(&["", "", " "]);
        [word, random.pick(ENDINGS), space].concat()
    })
}

fn marks(random: &mut Random) -> String {
    const BASES: &[&str] = &["a", "A", "日", "क", "ن", "ʰ", "1", "!", " ", "\n", "e", "ﬁ", "ǅ", "'"];
    several(random, 1, 50, |random| {
        let base = (random.pick(BASES)).to_owned();
        let marks = (0..random.below(4)).map(|_| {
            random.pick(&['\u{300}', '\u{301}', '\u{338}', '\u{20DD}', '\u{93F}', '\u{64B}', '\u{FE0F}', '\u{1F3F}'])
        });
        base + &marks.collect::<String>()
    })
}

fn capitals(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "a",
        "b",
        "z",
        "A",
        "B",
        "Z",
        "é",
        "É",
        "ß",
        "ẞ",
        "ǅ",
        "ǈ",
        "ʰ",
        "ª",
        "日",
        "ん",
        "\u{301}",
        "Ж",
        "ж",
        "Σ",
        "ς",
        "İ",
        "ı",
        "Ꭰ",
        "ꭰ",
        "𝐀",
        "𝐚",
        "HTTPServer",
        "iPhone",
        "McDONALD",
        " ",
        "_",
        "-",
        ".",
        "'",
    ];
    several(random, 1, 60, one_of(ITEMS))
}

fn symbols(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "!",
        "\"",
        "#",
        "$",
        "%",
        "&",
        "'",
        "(",
        ")",
        "*",
        "+",
        ",",
        "-",
        ".",
        "/",
        ":",
        ";",
        "<",
        "=",
        ">",
        "?",
        "@",
        "[",
        "\\",
        "]",
        "^",
        "_",
        "`",
        "{",
        "|",
        "}",
        "~",
        "==",
        "=>",
        "//",
        "/*",
        "*/",
        "…",
        "—",
        "«",
        "»",
        "€",
        "→",
        "≤",
        "∑",
        "╔══",
        "│",
        "█",
        " ",
        " ",
        "\n",
        "a",
        "1",
    ];
    several(random, 1, 90, one_of(ITEMS))
}

fn gibberish(random: &mut Random) -> String {
    const ALPHABETS: &[&[u8]] = &[
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"0123456789abcdef",
        b"abcdefghijklmnopqrstuvwxyz",
        b"ACGT",
        b"01",
        b"qxzjkvw",
    ];
    let alphabet = random.pick(ALPHABETS);
    several(random, 1, 1200, |random| char::from(random.pick(alphabet)).to_string())
}

fn mixed(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "hello",
        "World",
        "мир",
        "Мир",
        "κόσμος",
        "世界",
        "こんにちは",
        "カタカナ",
        "안녕",
        "שלום",
        "مرحبا",
        "नमस्ते",
        "สวัสดี",
        "გამარჯობა",
        "ሰላም",
        "բարեւ",
        "தமிழ்",
        "བོད",
        " ",
        " ",
        " ",
        ", ",
        "。",
        "1",
        "_",
        "\n",
    ];
    several(random, 1, 50, one_of(ITEMS))
}

fn random_unicode(random: &mut Random) -> String {
    several(random, 1, 120, |random| {
        let limit = random.pick(&[0x80, 0x800, 0x3000, 0x1_0000, 0x2_0000, 0x11_0000]);
        random.character(limit).map_or_else(String::new, String::from)
    })
}

fn random_first_plane(random: &mut Random) -> String {
    // One place of the plane, as texts of one script have it.
    let first = u32::try_from(random.below(0xFF00)).unwrap_or(0);
    several(random, 1, 200, |random| {
        let offset = u32::try_from(random.below(0x60)).unwrap_or(0);
        if random.below(6) == 0 {
            " ".to_owned()
        } else {
            char::from_u32(first + offset).map_or_else(String::new, String::from)
        }
    })
}

fn long_runs(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "a", "A", " ", "\n", "\t", "-", "=", "*", "#", "/", "0", "é", "日", "😀", "\u{301}", "\r\n", "ab", "aA", "日A",
        "' ", "x_",
    ];
    several(random, 1, 3, |random| random.pick(ITEMS).repeat(random.between(1, 3000)))
}

fn repetitions(random: &mut Random) -> String {
    const ITEMS: &[&str] = &[
        "produto", "mrq", "=-", "*/", "ab", "Ba", "the", " the", "ing", "日本", "der", "\n ", "\"},{\"", "na", "é",
        "->", "x0",
    ];
    let unit = several(random, 1, 4, one_of(ITEMS));
    unit.repeat(random.between(1, 2000 / unit.len().max(1)))
}
