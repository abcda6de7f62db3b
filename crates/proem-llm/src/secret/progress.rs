//! How far a text that arrives byte by byte agrees with secrets, in every view of it.
//!
//! A view is made as [`super::views`] makes it of a whole text. Each keeps, for each needle, how many of the needle's
//! bytes it ends with (Knuth, Morris and Pratt, *Fast pattern matching in strings*, SIAM Journal on Computing 6, 1977), so
//! that no byte is read twice and nothing but what may be the beginning of a secret has to be remembered.

use std::collections::VecDeque;

use proem_text::Span;

use super::Searches;
use super::views::{ENCODINGS, Encoding, LAYERS};

pub(super) struct NeedleSet {
    needles: Vec<StreamNeedle>,
    /// The longest needle.
    longest: usize,
    /// By byte: whether a needle or an escape may begin with it.
    begins: [bool; 256],
}

/// A needle with its table.
struct StreamNeedle {
    secret: usize,
    bytes: Vec<u8>,
    /// By place: the longest beginning of the needle that also ends there, but not as the whole of what is before.
    borders: Vec<usize>,
    reading: NeedleReading,
}

/// In which reading of a view a needle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NeedleReading {
    /// As it is: only a needle with space in it needs that.
    Exact,
    /// Without space.
    Bare,
    /// Without space and capitals.
    Folded,
}

impl NeedleSet {
    /// Everything that these searches look for.
    pub(super) fn new(searches: &Searches) -> Self {
        let exact = searches.exact.needles().map(|(secret, bytes)| {
            let has_space = bytes.iter().any(u8::is_ascii_whitespace);
            StreamNeedle::new(secret, bytes, if has_space { NeedleReading::Exact } else { NeedleReading::Bare })
        });
        let folded = searches.folded.needles();
        let folded = folded.map(|(secret, bytes)| StreamNeedle::new(secret, bytes, NeedleReading::Folded));
        let needles: Vec<StreamNeedle> = exact.chain(folded).collect();
        let longest = needles.iter().map(|needle| needle.bytes.len()).max().unwrap_or(0);
        let mut begins = [false; 256];
        let marks = ENCODINGS.into_iter().map(Encoding::mark);
        let firsts = needles.iter().filter_map(|needle| needle.bytes.first().copied());
        for byte in marks.chain(firsts.flat_map(|byte| [byte, byte.to_ascii_uppercase()])) {
            if let Some(begins) = begins.get_mut(usize::from(byte)) {
                *begins = true;
            }
        }
        Self { needles, longest, begins }
    }

    fn may_begin_with(&self, byte: u8) -> bool {
        self.begins.get(usize::from(byte)).copied().unwrap_or(true)
    }
}

impl StreamNeedle {
    fn new(secret: usize, bytes: &[u8], reading: NeedleReading) -> Self {
        let mut needle = Self { secret, bytes: bytes.to_vec(), borders: Vec::with_capacity(bytes.len()), reading };
        let mut matched = 0;
        for (place, byte) in bytes.iter().enumerate() {
            if place > 0 {
                matched = needle.step(matched, *byte);
            }
            needle.borders.push(matched);
        }
        needle
    }

    /// How many bytes are matched behind one more, if so many were before it.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        while self.bytes.get(matched) != Some(&byte) {
            let Some(before) = matched.checked_sub(1) else { return 0 };
            matched = self.borders.get(before).copied().unwrap_or(0);
        }
        matched.saturating_add(1)
    }
}

/// A secret that a text ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SecretMatch {
    /// Its place in the text as it arrived.
    pub(super) span: Span,
    /// Which secret it is.
    pub(super) secret: usize,
}

/// A text and its views, as far as they have arrived.
pub(super) struct SecretProgress {
    text: StreamedView,
    is_idle: bool,
}

impl SecretProgress {
    /// Before the first byte.
    pub(super) fn new(set: &NeedleSet) -> Self {
        Self { text: StreamedView::new(set, LAYERS), is_idle: true }
    }

    /// Takes the next byte, which is at `at`. The secret that it completes.
    pub(super) fn push(&mut self, set: &NeedleSet, byte: u8, at: usize) -> Option<SecretMatch> {
        // Nothing is open and nothing begins, in no view.
        if self.is_idle && !set.may_begin_with(byte) {
            return None;
        }
        let mut found = None;
        self.text.push(set, byte, Span::new(at, at.saturating_add(1)), &mut found);
        self.is_idle = self.held_from().is_none();
        found
    }

    /// Reads what is open as it is, since nothing follows. The secret that this completes.
    pub(super) fn end(&mut self, set: &NeedleSet) -> Option<SecretMatch> {
        let mut found = None;
        self.text.end(set, &mut found);
        found
    }

    /// The beginning of the first secret that may still come. `None` if none may.
    pub(super) fn held_from(&self) -> Option<usize> {
        self.text.held_from()
    }
}

/// One view of a text, and the views of it.
struct StreamedView {
    /// By needle: how many of its bytes the view ends with.
    matched: Vec<usize>,
    /// The origins of the last bytes, and those of them that are no space.
    places: VecDeque<Span>,
    bare_places: VecDeque<Span>,
    /// The beginning of the earliest match that is not over.
    begun: Option<usize>,
    views: Vec<(StreamDecoder, Self)>,
}

impl StreamedView {
    fn new(set: &NeedleSet, layers: usize) -> Self {
        let views = layers.checked_sub(1).map_or_else(Vec::new, |left| {
            ENCODINGS.into_iter().map(|encoding| (StreamDecoder::new(encoding), Self::new(set, left))).collect()
        });
        let places = || VecDeque::with_capacity(set.longest.saturating_add(1));
        let matched = vec![0; set.needles.len()];
        Self { matched, places: places(), bare_places: places(), begun: None, views }
    }

    /// Takes the next byte, which comes from `place`.
    fn push(&mut self, set: &NeedleSet, byte: u8, place: Span, found: &mut Option<SecretMatch>) {
        self.compare(set, byte, place, found);
        for (decoder, view) in &mut self.views {
            decoder.push(byte, place, &mut |byte, place| view.push(set, byte, place, found));
        }
    }

    fn end(&mut self, set: &NeedleSet, found: &mut Option<SecretMatch>) {
        for (decoder, view) in &mut self.views {
            decoder.end(&mut |byte, place| view.push(set, byte, place, found));
            view.end(set, found);
        }
    }

    fn compare(&mut self, set: &NeedleSet, byte: u8, place: Span, found: &mut Option<SecretMatch>) {
        let is_space = byte.is_ascii_whitespace();
        remember(&mut self.places, place, set.longest);
        if !is_space {
            remember(&mut self.bare_places, place, set.longest);
        }
        self.begun = None;
        for (needle, matched) in set.needles.iter().zip(&mut self.matched) {
            *matched = match needle.reading {
                NeedleReading::Exact => needle.step(*matched, byte),
                _ if is_space => *matched,
                NeedleReading::Bare => needle.step(*matched, byte),
                NeedleReading::Folded => needle.step(*matched, byte.to_ascii_lowercase()),
            };
            if *matched == 0 {
                continue;
            }
            let places = if needle.reading == NeedleReading::Exact { &self.places } else { &self.bare_places };
            let first = places.len().checked_sub(*matched).and_then(|first| places.get(first));
            let start = first.map_or(0, |first| first.start);
            self.begun = Some(self.begun.map_or(start, |begun| begun.min(start)));
            if *matched == needle.bytes.len() {
                let complete = SecretMatch { span: Span::new(start, place.end), secret: needle.secret };
                *found = Some(found.map_or(complete, |found| found.min(complete)));
            }
        }
    }

    fn held_from(&self) -> Option<usize> {
        let below = self.views.iter().flat_map(|(decoder, view)| [decoder.held_from(), view.held_from()]);
        below.chain([self.begun]).flatten().min()
    }
}

fn remember(places: &mut VecDeque<Span>, place: Span, most: usize) {
    if places.len() >= most {
        places.pop_front();
    }
    places.push_back(place);
}

/// Takes the escapes of one encoding out of what arrives.
struct StreamDecoder {
    encoding: Encoding,
    /// A possible escape, from its mark on, and the origin of each byte of it.
    open: Vec<u8>,
    places: Vec<Span>,
}

impl StreamDecoder {
    const fn new(encoding: Encoding) -> Self {
        Self { encoding, open: Vec::new(), places: Vec::new() }
    }

    fn push(&mut self, byte: u8, place: Span, out: &mut dyn FnMut(u8, Span)) {
        if self.open.is_empty() && byte != self.encoding.mark() {
            return out(byte, place);
        }
        self.open.push(byte);
        self.places.push(place);
        while let Some((first, rest)) = self.open.split_first() {
            if *first == self.encoding.mark() && self.encoding.is_open(rest) {
                break;
            }
            self.take_first(out);
        }
    }

    fn end(&mut self, out: &mut dyn FnMut(u8, Span)) {
        while !self.open.is_empty() {
            self.take_first(out);
        }
    }

    /// Hands on the escape that the open bytes begin with, or their first byte as it is.
    fn take_first(&mut self, out: &mut dyn FnMut(u8, Span)) {
        let (Some((first, rest)), Some(place)) = (self.open.split_first(), self.places.first().copied()) else {
            return;
        };
        let escape = (*first == self.encoding.mark()).then(|| self.encoding.escape(rest)).flatten();
        let length = escape.as_ref().map_or(0, |escape| escape.length);
        let end = self.places.get(length).map_or(place.end, |last| last.end);
        match &escape {
            Some(escape) => escape.bytes().iter().for_each(|byte| out(*byte, Span::new(place.start, end))),
            None => out(*first, place),
        }
        self.open.drain(..=length);
        self.places.drain(..=length);
    }

    fn held_from(&self) -> Option<usize> {
        self.places.first().map(|place| place.start)
    }
}
