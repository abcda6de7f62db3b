//! The learned scorer's view of a sentence: hashed pieces, on the fly.
//!
//! Pieces are runs of one to four characters across words, words, pairs of neighbouring words, and
//! the first two words with their place (a request begins with its verb). Before that, letters are
//! made small, Latin letters lose their accents, digits become `0`, quotes and dashes become those
//! of ASCII, and each run of whitespace becomes one space, with one before and one after the
//! sentence. Each piece falls into one of 2ⁿ buckets (Weinberger et al., *Feature Hashing for Large
//! Scale Multitask Learning*, 2009). All of it is part of the model: a change needs a new training.

/// The first hash of a run of characters: the offset basis of FNV-1a of 32 bits.
const RUN: u32 = 0x811c_9dc5;
/// The first hash of a word.
const WORD: u32 = 0x0123_4567;
/// 2³² divided by the golden ratio, and a constant of MurmurHash3: odd numbers with mixed bits.
const STEP: u32 = 0x9e37_79b1;
const SPREAD: u32 = 0x85eb_ca6b;

/// The marks of the kinds of pieces: runs have their length, 1 to 4.
const KIND_WORD: u32 = 101;
const KIND_PAIR: u32 = 102;
const KIND_FIRST: u32 = 103;

/// Calls `visit` with the bucket of each piece of a sentence, 0 to 2^`bits` − 1, in order.
///
/// `bits` is 1 to 31. A piece that is there twice is visited twice.
pub fn buckets(sentence: &str, bits: u32, visit: impl FnMut(u32)) {
    let mut pieces = PieceHasher {
        shift: 32_u32.saturating_sub(bits),
        visit,
        runs: [0; 3],
        length: 0,
        word: None,
        last: 0,
        words: 0,
    };
    pieces.take(u32::from(b' '));
    let (mut begun, mut space) = (false, false);
    for c in sentence.chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if matches!(c, '\u{300}'..='\u{36f}') {
            continue;
        }
        if space && begun {
            pieces.take(u32::from(b' '));
        }
        (begun, space) = (true, false);
        pieces.take(fold_feature_character(c) as u32);
    }
    pieces.take(u32::from(b' '));
}

/// The pieces that are still open.
struct PieceHasher<V> {
    shift: u32,
    visit: V,
    /// The hashes of the last one, two and three characters.
    runs: [u32; 3],
    /// How many characters were taken, counted to 3.
    length: u32,
    /// The hash of the word so far.
    word: Option<u32>,
    /// The hash of the word before.
    last: u32,
    /// How many words ended.
    words: u32,
}

impl<V: FnMut(u32)> PieceHasher<V> {
    #[inline]
    fn take(&mut self, c: u32) {
        let [one, two, three] = self.runs;
        let first = hash_step(RUN, c);
        self.emit(first.wrapping_add(1));
        let (mut second, mut third) = (0, 0);
        if self.length >= 1 {
            second = hash_step(one, c);
            self.emit(second.wrapping_add(2));
        }
        if self.length >= 2 {
            third = hash_step(two, c);
            self.emit(third.wrapping_add(3));
        }
        if self.length >= 3 {
            self.emit(hash_step(three, c).wrapping_add(4));
        } else {
            self.length = self.length.saturating_add(1);
        }
        self.runs = [first, second, third];
        if is_feature_character(c) {
            self.word = Some(hash_step(self.word.unwrap_or(WORD), c));
        } else if let Some(word) = self.word.take() {
            self.end_word(word);
        }
    }

    fn end_word(&mut self, word: u32) {
        let pair = if self.words > 0 { self.last.wrapping_mul(31) } else { 0 };
        self.emit(word.wrapping_add(KIND_WORD));
        if self.words > 0 {
            self.emit(pair.wrapping_add(word).wrapping_add(KIND_PAIR));
        }
        if self.words < 2 {
            self.emit(pair.wrapping_add(word).wrapping_add(KIND_FIRST).wrapping_add(self.words));
        }
        self.last = word;
        self.words = self.words.saturating_add(1);
    }

    #[inline]
    fn emit(&mut self, hash: u32) {
        (self.visit)(hash.wrapping_mul(SPREAD).wrapping_shr(self.shift));
    }
}

#[inline]
const fn hash_step(hash: u32, c: u32) -> u32 {
    let product = (hash ^ c).wrapping_mul(STEP);
    product ^ (product >> 15)
}

const fn is_feature_character(c: u32) -> bool {
    matches!(c, 0x30 | 0x61..=0x7a) || c >= 0x80
}

/// The letters that U+00C0 to U+024F and U+1E00 to U+1EFF represent without accents and strokes (the first letter of
/// the compatibility decomposition in `UnicodeData.txt`, and `ß ø đ ł ı æ œ` by their look). `_` where there is none.
const LATIN: &[u8; 400] =
    b"aaaaaaaceeeeiiii_nooooo_ouuuuy_saaaaaaaceeeeiiii_nooooo_ouuuuy_yaaaaaaccccccccddddeeeeeeeeeegggggggg\
    hh__iiiiiiiiiiiijjkk_llllllllllnnnnnn___oooooooorrrrrrsssssssstttt__uuuuuuuuuuuuwwyyyzzzzzzs________\
    ________________________oo_____________uu___________________dddlllnnnaaiioouuuuuuuuuu_aaaa____ggkkoo\
    oo__jdddgg__nnaa____aaaaeeeeiiiioooorrrruuuusstt__hh______aaeeooooooooyy____________________________";
const VIETNAMESE: &[u8; 256] =
    b"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrrssss\
    ssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwyas____aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeee\
    iiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy______";

/// One character in its one spelling.
#[inline]
fn fold_feature_character(c: char) -> char {
    match c {
        'A'..='Z' => c.to_ascii_lowercase(),
        '0'..='9' => '0',
        '\0'..='\x7f' => c,
        '\u{c0}'..='\u{24f}' => accentless(LATIN, (c as u32).saturating_sub(0xc0)).unwrap_or_else(|| small(c)),
        '\u{1e00}'..='\u{1eff}' => {
            accentless(VIETNAMESE, (c as u32).saturating_sub(0x1e00)).unwrap_or_else(|| small(c))
        }
        '‘' | '’' | '‚' => '\'',
        '“' | '”' | '„' | '«' | '»' => '"',
        '‐' | '‑' | '–' | '—' => '-',
        '…' => '.',
        '\u{ff01}'..='\u{ff5e}' => {
            let narrow = char::from_u32((c as u32).saturating_sub(0xfee0)).unwrap_or(c).to_ascii_lowercase();
            if narrow.is_ascii_digit() { '0' } else { narrow }
        }
        _ => small(c),
    }
}

fn accentless(table: &[u8], index: u32) -> Option<char> {
    let letter = usize::try_from(index).ok().and_then(|index| table.get(index))?;
    Some(char::from(*letter)).filter(|letter| *letter != '_')
}

fn small(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
