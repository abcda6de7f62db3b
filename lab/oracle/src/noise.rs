//! Compares random texts until the time is over.

use std::time::{Duration, Instant};

use proem_tokens::Vocabulary;

use crate::{
    compare::{once, pairs},
    corpus::Random,
};

/// Whether both encode every random text alike. The first that differs is printed.
pub fn compare(seconds: u64) -> bool {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::of("noise", usize::try_from(seconds).unwrap_or(0));
    let (mut texts, mut bytes) = (0usize, 0usize);
    while Instant::now() < end {
        let text = text(&mut random);
        for (ours, peer) in pairs() {
            let expected = peer.encode(text.as_str());
            let found = ours.encode(&text);
            if found != expected || ours.count(&text) != found.len() {
                println!("{ours:?} differs for {text:?}:\n  {found:?}\n  {expected:?}");
                return false;
            }
        }
        texts += 1;
        bytes += text.len();
    }
    println!("{texts} random texts of together {bytes} bytes: nothing differs");
    true
}

/// The signs that the patterns treat in a special way.
const SPECIAL: &[char] = &[
    ' ', ' ', '\n', '\r', '\t', '\'', '\'', '/', 's', 'S', 'ſ', 't', 'T', 'r', 'R', 'e', 'E', 'v', 'V', 'm', 'M', 'l',
    'L', 'd', 'D', 'a', 'A', 'ǅ', 'ʰ', '日', '\u{301}', '\u{20DD}', '1', '²', 'Ⅷ', '٣', '!', '.', '\u{A0}', '\u{85}',
    '\u{2028}', '\u{3000}', '\u{180E}', '\u{200B}', '\u{200D}', '\u{FE0F}', '😀', '🇩', '’', 'é', 'É', 'ß', 'ẞ', 'K',
];

fn text(random: &mut Random) -> String {
    let mode = random.below(4);
    let one = |random: &mut Random| match mode {
        0 => random.pick(SPECIAL).to_string(),
        // Any character, more often one of the first planes.
        1 => {
            let limit = random.pick(&[0x80, 0x800, 0x3000, 0x1_0000, 0x11_0000]);
            random.character(limit).map_or_else(String::new, String::from)
        }
        // Tokens side by side, where the borders matter.
        2 => token(random),
        // Few letters, in runs that are no words.
        _ => random.pick(&['a', 'b', 'c', 'd', 'e', 'f']).to_string(),
    };
    (0..random.below(60)).map(|_| one(random)).collect()
}

fn token(random: &mut Random) -> String {
    let rank = u32::try_from(random.below(Vocabulary::O200k.len())).unwrap_or(0);
    String::from_utf8_lossy(&Vocabulary::O200k.bytes(rank).unwrap_or_default()).into_owned()
}

/// How many texts [`print_slowest`] tries, of how many bytes each.
const TRIES: usize = 4_000;
const BYTES: usize = 100_000;

/// Prints the slowest of many texts, each of which repeats a few tokens or letters.
pub fn print_slowest() -> bool {
    for vocabulary in Vocabulary::ALL {
        let mut random = Random::of("slow", 0);
        let mut slowest: Vec<(Duration, String)> = (0..TRIES)
            .map(|_| {
                let unit = unit(&mut random);
                let text = unit.repeat(BYTES / unit.len().max(1));
                // The second time the table's pages are there.
                let time = || once(|| vocabulary.count(&text)).0;
                (time().min(time()), unit)
            })
            .collect();
        slowest.sort_by(|a, b| b.0.cmp(&a.0));
        println!("{vocabulary:?}, {BYTES} bytes:");
        for (time, unit) in slowest.iter().take(8) {
            println!("  {:.2} ms for {unit:?}", time.as_secs_f64() * 1e3);
        }
    }
    true
}

fn unit(random: &mut Random) -> String {
    if random.below(3) == 0 {
        return (0..random.between(1, 6)).filter_map(|_| random.character(0x80)).collect();
    }
    let token = |random: &mut Random| {
        let token = token(random);
        if random.below(2) == 0 { token.trim().to_owned() } else { token }
    };
    (0..random.between(1, 4)).map(|_| token(random)).collect()
}
