//! Places in a text, and the way back from a derived text to the original.
//!
//! Offsets are bytes and spans are half-open, as in `str::get(start..end)`. An [`OffsetMap`] belongs to one *view*, a
//! text derived from an original by copying, replacing, inserting and leaving out. Views stack, and [`OffsetMap::then`]
//! maps a stack back in one go.

use alloc::{vec, vec::Vec};

/// A half-open range of byte offsets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` to `end`. An `end` before `start` makes an empty span at `start`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// It in a text in which `bytes` more are before it.
    #[must_use]
    pub const fn moved(self, bytes: usize) -> Self {
        Self::new(self.start.saturating_add(bytes), self.end.saturating_add(bytes))
    }

    /// Whether both hold at least one common byte. An empty span overlaps nothing.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        let start = if self.start > other.start { self.start } else { other.start };
        let end = if self.end < other.end { self.end } else { other.end };
        start < end
    }
}

/// One piece of a view and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ViewSegment {
    view: Span,
    original: Span,
    /// Whether the piece is a byte-for-byte copy, so that offsets inside it correspond too.
    verbatim: bool,
}

/// Maps byte offsets of a view to its original.
///
/// Built from left to right: the start and the end of the original spans never go backwards. Original text that no
/// segment names was left out of the view. A segment with an empty original span was inserted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffsetMap {
    segments: Vec<ViewSegment>,
}

impl OffsetMap {
    /// The map of an empty view.
    #[must_use]
    pub const fn new() -> Self {
        Self { segments: Vec::new() }
    }

    /// The map of a view that is a copy of an original of `len` bytes.
    #[must_use]
    pub fn identity(len: usize) -> Self {
        let mut map = Self::new();
        map.push_verbatim(Span::new(0, len));
        map
    }

    /// The length of the view in bytes.
    #[must_use]
    pub fn view_len(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.view.end)
    }

    /// Appends `view_len` bytes that represent all of `original`, as a replacement does.
    pub fn push(&mut self, view_len: usize, original: Span) {
        self.append(view_len, original, false);
    }

    /// Appends a byte-for-byte copy of `original`.
    pub fn push_verbatim(&mut self, original: Span) {
        if let Some(last) = self.segments.last_mut()
            && last.verbatim
            && last.original.end == original.start
        {
            last.view.end = last.view.end.saturating_add(original.len());
            last.original.end = original.end;
            return;
        }
        self.append(original.len(), original, true);
    }

    fn append(&mut self, view_len: usize, original: Span, verbatim: bool) {
        if view_len == 0 {
            return;
        }
        let start = self.view_len();
        let view = Span::new(start, start.saturating_add(view_len));
        self.segments.push(ViewSegment { view, original, verbatim });
    }

    /// The smallest original span that covers what `view` shows.
    ///
    /// An empty span maps to an empty one, at the original place of what follows it. Offsets past
    /// the view's end count as its end.
    #[must_use]
    pub fn original(&self, view: Span) -> Span {
        if view.is_empty() {
            let at = self.original_start(view.start);
            return Span::new(at, at);
        }
        Span::new(self.original_start(view.start), self.original_end(view.end))
    }

    /// The pieces that are byte-for-byte copies, in order: where in the view, where in the original.
    pub fn copies(&self) -> impl Iterator<Item = (Span, Span)> {
        self.segments.iter().filter(|segment| segment.verbatim).map(|segment| (segment.view, segment.original))
    }

    /// The map of a view of this map's view: `self` leads to a middle text, `inner` from there to
    /// the original, the result from `self`'s view to the original.
    #[must_use]
    pub fn then(&self, inner: &Self) -> Self {
        let mut map = Self::new();
        for outer in &self.segments {
            if outer.verbatim {
                for (piece, verbatim) in inner.pieces(outer.original) {
                    let original = inner.original(piece);
                    if verbatim {
                        map.push_verbatim(original);
                    } else {
                        map.push(piece.len(), original);
                    }
                }
            } else {
                map.push(outer.view.len(), inner.original(outer.original));
            }
        }
        map
    }

    /// Cuts `view` at segment ends. Each piece with whether it is a copy. The part past the view's end comes as one
    /// last piece, so that no byte is lost.
    fn pieces(&self, view: Span) -> impl Iterator<Item = (Span, bool)> {
        let rest = self.segments.get(self.segment_after(view.start)..).unwrap_or_default();
        let past = Span::new(view.start.max(self.view_len()), view.end);
        rest.iter()
            .take_while(move |segment| segment.view.start < view.end)
            .map(move |segment| {
                (Span::new(segment.view.start.max(view.start), segment.view.end.min(view.end)), segment.verbatim)
            })
            .chain(vec![(past, false)])
            .filter(|(piece, _)| !piece.is_empty())
    }

    /// The index of the first segment that ends after `offset`.
    fn segment_after(&self, offset: usize) -> usize {
        self.segments.partition_point(|segment| segment.view.end <= offset)
    }

    fn original_start(&self, offset: usize) -> usize {
        match self.segments.get(self.segment_after(offset)) {
            Some(segment) if segment.verbatim => {
                segment.original.start.saturating_add(offset.saturating_sub(segment.view.start))
            }
            Some(segment) => segment.original.start,
            None => self.segments.last().map_or(0, |segment| segment.original.end),
        }
    }

    fn original_end(&self, offset: usize) -> usize {
        let index = self.segments.partition_point(|segment| segment.view.end < offset);
        match self.segments.get(index) {
            Some(segment) if segment.verbatim => {
                segment.original.start.saturating_add(offset.saturating_sub(segment.view.start))
            }
            Some(segment) => segment.original.end,
            None => self.segments.last().map_or(0, |segment| segment.original.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        assert_eq!(Span::new(5, 3), Span::new(5, 5));
        assert_eq!(Span::new(2, 5).len(), 3);
        assert!(Span::new(2, 2).is_empty());
        for (a, b, expected) in [
            (Span::new(0, 3), Span::new(2, 5), true),
            (Span::new(0, 3), Span::new(3, 5), false),
            (Span::new(0, 9), Span::new(3, 3), false),
            (Span::new(0, 9), Span::new(3, 4), true),
        ] {
            assert_eq!((a.overlaps(b), b.overlaps(a)), (expected, expected), "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_view_leads_back() {
        // Original: "ab###cd", view: "ab[x]Cd" with "###" replaced and "c" changed.
        let mut map = OffsetMap::new();
        map.push_verbatim(Span::new(0, 2));
        map.push(3, Span::new(2, 5));
        map.push(1, Span::new(5, 6));
        map.push_verbatim(Span::new(6, 7));
        for (view, expected) in [
            (Span::new(0, 7), Span::new(0, 7)),
            (Span::new(1, 2), Span::new(1, 2)),
            (Span::new(3, 4), Span::new(2, 5)),
            (Span::new(1, 6), Span::new(1, 6)),
            (Span::new(6, 7), Span::new(6, 7)),
            (Span::new(6, 6), Span::new(6, 6)),
            (Span::new(7, 7), Span::new(7, 7)),
            (Span::new(9, 12), Span::new(7, 7)),
        ] {
            assert_eq!(map.original(view), expected, "{view:?}");
        }
        let copies = [(Span::new(0, 2), Span::new(0, 2)), (Span::new(6, 7), Span::new(6, 7))];
        assert!(map.copies().eq(copies));
    }

    #[test]
    fn the_identity_changes_nothing() {
        let map = OffsetMap::identity(9);
        assert_eq!(map.original(Span::new(3, 5)), Span::new(3, 5));
        assert_eq!(map.then(&map), map);
        assert_eq!(OffsetMap::identity(0), OffsetMap::new());
    }
}
