//! How a reading is made from another: by changing places in it, or by gathering what it hides.

use alloc::{string::String, vec::Vec};
use proem_text::{Span, View};

/// How far from a change other steps look for something to change too, in bytes.
const NEAR: usize = 256;

/// How much is around a change in a reading that leaves out what didn't change, in bytes.
const CONTEXT: usize = 512;

/// A text to read in another way.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingSource<'a> {
    pub(super) text: &'a str,
    /// The changes of the last step, in order. `None` if it is all new.
    pub(super) fresh: Option<&'a [Span]>,
}

impl ReadingSource<'_> {
    /// Whether the last step changed the text there, or right beside it. Unchanged text has been read in every way
    /// before.
    pub(super) fn is_fresh(&self, span: Span) -> bool {
        self.is_within(span, 0)
    }

    /// Whether the last step changed something near, so that both belong to one sentence.
    fn is_near(&self, span: Span) -> bool {
        self.is_within(span, NEAR)
    }

    fn is_within(&self, span: Span, distance: usize) -> bool {
        let Some(fresh) = self.fresh else { return true };
        let first = fresh.partition_point(|place| place.end.saturating_add(distance) < span.start);
        fresh.get(first).is_some_and(|place| place.start <= span.end.saturating_add(distance))
    }
}

/// A reading of a [`ReadingSource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DerivedReading {
    /// The map leads to the source's text.
    pub(super) view: View,
    /// The changes, in the view and in order. `None` if it is all new.
    pub(super) fresh: Option<Vec<Span>>,
    /// From the first to the last place that changed, in the source's text.
    pub(super) place: Span,
}

/// A text with some places replaced.
#[derive(Debug)]
pub(super) struct ReadingDraft<'a> {
    source: ReadingSource<'a>,
    edits: Vec<Replacement>,
    written: String,
}

#[derive(Debug, Clone, Copy)]
struct Replacement {
    /// In the source.
    place: Span,
    /// Its text in [`ReadingDraft::written`].
    text: Span,
}

impl<'a> ReadingDraft<'a> {
    pub(super) const fn new(source: ReadingSource<'a>) -> Self {
        Self { source, edits: Vec::new(), written: String::new() }
    }

    /// Replaces a place that is behind the last one. Nothing if the last step changed nothing near it.
    pub(super) fn replace(&mut self, place: Span, with: &str) {
        if self.source.is_near(place) && self.source.text.get(place.start..place.end) != Some(with) {
            self.write(place, with);
        }
    }

    /// The same however far the last change is.
    pub(super) fn write(&mut self, place: Span, with: &str) {
        let start = self.written.len();
        self.written.push_str(with);
        self.edits.push(Replacement { place, text: Span::new(start, self.written.len()) });
    }

    /// The changed text without what is far from any change. `None` if nothing changed.
    pub(super) fn finish(self) -> Option<DerivedReading> {
        let place = Span::new(self.edits.first()?.place.start, self.edits.last()?.place.end);
        let mut view = View::default();
        let mut fresh: Vec<Span> = Vec::new();
        let mut edits = self.edits.iter().peekable();
        for region in self.regions() {
            if !view.text.is_empty() {
                view.text.push_str("\n\n");
                view.map.push(
                    2,
                    Span::new(region.start, self.source.text.ceil_char_boundary(region.start.saturating_add(1))),
                );
            }
            let mut at = region.start;
            while let Some(edit) = edits.next_if(|edit| edit.place.end <= region.end) {
                self.copy(Span::new(at, edit.place.start), &mut view);
                let start = view.text.len();
                let with = self.written.get(edit.text.start..edit.text.end).unwrap_or_default();
                view.text.push_str(with);
                view.map.push(with.len(), edit.place);
                match fresh.last_mut() {
                    Some(last) if last.end == start => last.end = view.text.len(),
                    _ => fresh.push(Span::new(start, view.text.len())),
                }
                at = edit.place.end;
            }
            self.copy(Span::new(at, region.end), &mut view);
        }
        Some(DerivedReading { view, fresh: Some(fresh), place })
    }

    fn copy(&self, span: Span, view: &mut View) {
        view.text.push_str(self.source.text.get(span.start..span.end).unwrap_or_default());
        view.map.push_verbatim(span);
    }

    /// The kept parts: the changes with their surroundings, or everything if that is little less.
    fn regions(&self) -> Vec<Span> {
        let text = self.source.text;
        let mut regions: Vec<Span> = Vec::new();
        let mut kept = 0usize;
        for edit in &self.edits {
            if let Some(last) = regions.last_mut()
                && last.end >= edit.place.end.saturating_add(CONTEXT / 2).min(text.len())
            {
                continue;
            }
            let from = text.floor_char_boundary(edit.place.start.saturating_sub(CONTEXT));
            let to = text.ceil_char_boundary(edit.place.end.saturating_add(CONTEXT));
            let before = text.get(from..edit.place.start).unwrap_or_default();
            let behind = text.get(edit.place.end..to).unwrap_or_default();
            let start =
                if from == 0 { 0 } else { from.saturating_add(before.find(char::is_whitespace).unwrap_or_default()) };
            let end = if to == text.len() {
                to
            } else {
                // Never near the change, so that a region isn't begun anew for each of them.
                let half = behind.floor_char_boundary(CONTEXT / 2);
                let border = behind.get(half..).and_then(|far| far.rfind(char::is_whitespace));
                edit.place.end.saturating_add(border.map_or(behind.len(), |at| half.saturating_add(at)))
            };
            match regions.last_mut() {
                Some(last) if last.end.saturating_add(CONTEXT) >= start => {
                    kept = kept.saturating_add(end.saturating_sub(last.end));
                    last.end = last.end.max(end);
                }
                _ => {
                    kept = kept.saturating_add(end.saturating_sub(start));
                    regions.push(Span::new(start, end));
                }
            }
        }
        if kept.saturating_mul(4) >= text.len().saturating_mul(3) {
            Vec::from([Span::new(0, text.len())])
        } else {
            regions
        }
    }
}

/// Texts that was apart, with an empty line between two.
#[derive(Debug, Default)]
pub(super) struct ApartTexts {
    view: View,
    fresh: Vec<Span>,
    place: Option<Span>,
    /// Whether the next piece belongs to the last.
    joins: bool,
}

impl ApartTexts {
    /// Adds what a place decodes to.
    pub(super) fn decoded(&mut self, text: &str, place: Span) {
        if text.is_empty() {
            return;
        }
        self.part(place);
        self.insert(text, place);
        self.end();
    }

    /// Starts a piece with a copy, or goes on with the one that hasn't ended.
    pub(super) fn begin(&mut self, text: &str, place: Span) {
        let first = text.get(place.start..).and_then(|text| text.chars().next()).map_or(0, char::len_utf8);
        self.part(Span::new(place.start, place.start.saturating_add(first)));
    }

    /// Separates the next piece from the last one, if that has ended. The separator has the place of the next piece's
    /// beginning.
    fn part(&mut self, place: Span) {
        if !self.view.text.is_empty() && !self.joins {
            self.view.text.push_str("\n\n");
            self.view.map.push(2, place);
        }
        self.joins = true;
        self.cover(place);
    }

    /// Whether what follows belongs to the last piece.
    pub(super) const fn is_open(&self) -> bool {
        self.joins
    }

    /// Adds text that represents a place to the piece.
    pub(super) fn insert(&mut self, text: &str, place: Span) {
        let start = self.view.text.len();
        self.view.text.push_str(text);
        self.view.map.push(text.len(), place);
        match self.fresh.last_mut() {
            Some(last) if last.end == start => last.end = self.view.text.len(),
            _ => self.fresh.push(Span::new(start, self.view.text.len())),
        }
        self.cover(place);
    }

    /// Adds a copy of a place to the piece.
    pub(super) fn copy(&mut self, text: &str, place: Span) {
        self.view.text.push_str(text.get(place.start..place.end).unwrap_or_default());
        self.view.map.push_verbatim(place);
        self.cover(place);
    }

    /// Ends the piece.
    pub(super) const fn end(&mut self) {
        self.joins = false;
    }

    fn cover(&mut self, place: Span) {
        let all = self.place.get_or_insert(place);
        all.end = all.end.max(place.end);
    }

    /// The result, all of it new. `None` if there is nothing.
    pub(super) fn finish(self) -> Option<DerivedReading> {
        let place = self.place.filter(|_| !self.view.text.trim().is_empty())?;
        Some(DerivedReading { view: self.view, fresh: None, place })
    }

    /// The result, in which only the parts that are no copy are new.
    pub(super) fn finish_copies(self) -> Option<DerivedReading> {
        let fresh = self.fresh.clone();
        self.finish().map(|made| DerivedReading { fresh: Some(fresh), ..made })
    }
}
