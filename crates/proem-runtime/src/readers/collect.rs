//! The collector of a reader's findings, within bounds.

use proem_guard::Untrusted;
use proem_text::{Label, Source};

use super::{
    DocumentField, DocumentGap, DocumentLimits, DocumentPosition, GapReason, bytes_in_words,
    charset::{self, CharsetDecoding},
};

/// The fields and gaps of one file.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    label: Label,
    limits: DocumentLimits,
    lines: LineFinder<'a>,
    fields: Vec<DocumentField>,
    gaps: Vec<DocumentGap>,
    /// How many gaps are not among them.
    untold: usize,
}

impl<'a> Collector<'a> {
    /// For the file that `bytes` are.
    pub(super) fn new(bytes: &'a [u8], source: Source, limits: DocumentLimits) -> Self {
        let (fields, gaps) = (Vec::new(), Vec::new());
        Self { label: Label::from_source(source), limits, lines: LineFinder::new(bytes), fields, gaps, untold: 0 }
    }

    pub(super) const fn limits(&self) -> DocumentLimits {
        self.limits
    }

    /// Whether another field may be added.
    pub(super) fn has_room(&self) -> bool {
        self.fields.len() < self.limits.fields
    }

    /// Adds a field. `at` is where in the file the text is as it is. A field too many is a gap.
    pub(super) fn push(&mut self, name: String, text: String, at: Option<usize>) {
        if text.is_empty() {
            return;
        }
        if !self.has_room() {
            self.gap(
                GapReason::TooMany,
                &name,
                format!("{} not read, after the limit of {} fields", bytes_in_words(text.len()), self.limits.fields),
            );
            return;
        }
        let place = at.map(|offset| self.lines.place(offset));
        self.fields.push(DocumentField { name, text: Untrusted::new(text, self.label.clone()), place });
    }

    /// Adds a gap.
    pub(super) fn gap(&mut self, reason: GapReason, field: &str, about: impl Into<String>) {
        if self.gaps.len() < self.limits.fields {
            self.gaps.push(DocumentGap { reason, field: field.to_owned(), about: about.into() });
        } else {
            self.untold = self.untold.saturating_add(1);
        }
    }

    /// The text of bytes, with gaps for what is wrong with it. `None` if it is none.
    pub(super) fn decode(&mut self, field: &str, bytes: &[u8], declared: Option<&str>) -> Option<CharsetDecoding> {
        let decoded = charset::decode_charset(bytes, declared);
        if charset::is_binary(bytes, &decoded) {
            self.gap(GapReason::NotText, field, format!("{} that are not text", bytes_in_words(bytes.len())));
            return None;
        }
        self.tell(field, &decoded);
        Some(decoded)
    }

    /// Adds gaps for what is wrong with a decoded text.
    pub(super) fn tell(&mut self, field: &str, decoded: &CharsetDecoding) {
        if decoded.unknown {
            self.gap(GapReason::Unknown, field, "unknown character set; read as UTF-8");
        }
        if decoded.replaced > 0 {
            self.replaced(field, decoded.replaced);
        }
    }

    /// Adds a gap for what represents no character.
    pub(super) fn replaced(&mut self, field: &str, count: usize) {
        let noun = if count == 1 { "character" } else { "characters" };
        self.gap(GapReason::Replaced, field, format!("{count} invalid {noun}; read as U+FFFD"));
    }

    /// The fields and the gaps.
    pub(super) fn finish(mut self) -> (Vec<DocumentField>, Vec<DocumentGap>) {
        if self.untold > 0 {
            let about = format!("{} more that are not listed", self.untold);
            self.gaps.push(DocumentGap { reason: GapReason::TooMany, field: String::new(), about });
        }
        (self.fields, self.gaps)
    }
}

/// Finds lines and columns. In constant time for each byte as long as offsets rise.
#[derive(Debug)]
struct LineFinder<'a> {
    bytes: &'a [u8],
    last: DocumentPosition,
}

impl<'a> LineFinder<'a> {
    const START: DocumentPosition = DocumentPosition { offset: 0, line: 1, column: 1 };

    const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, last: Self::START }
    }

    fn place(&mut self, offset: usize) -> DocumentPosition {
        if offset < self.last.offset {
            self.last = Self::START;
        }
        let between = self.bytes.get(self.last.offset..offset).unwrap_or_default();
        let (mut line, mut column) = (self.last.line, self.last.column);
        for byte in between {
            match byte {
                b'\n' => (line, column) = (line.saturating_add(1), 1),
                // Bytes that continue a character are not counted.
                0x80..=0xbf => {}
                _ => column = column.saturating_add(1),
            }
        }
        self.last = DocumentPosition { offset, line, column };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns() {
        let mut lines = LineFinder::new("a\nb\u{e9}c\n".as_bytes());
        for (offset, line, column) in [(0, 1, 1), (1, 1, 2), (2, 2, 1), (5, 2, 3), (2, 2, 1), (7, 3, 1)] {
            assert_eq!(lines.place(offset), DocumentPosition { offset, line, column }, "{offset}");
        }
    }

    #[test]
    fn fields_and_gaps_are_bounded() {
        let limits = DocumentLimits { fields: 2, ..DocumentLimits::default() };
        let mut collector = Collector::new(b"", Source::named("file/text"), limits);
        for text in ["a", "", "b", "c", "d", "e"] {
            collector.push(text.to_owned(), text.to_owned(), None);
        }
        let (fields, gaps) = collector.finish();
        assert_eq!(fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let told: Vec<String> = gaps.iter().map(|gap| format!("{} {}", gap.field, gap.about)).collect();
        let after = "1 byte not read, after the limit of 2 fields";
        assert_eq!(told, [format!("c {after}"), format!("d {after}"), " 1 more that are not listed".to_owned()]);
    }
}
