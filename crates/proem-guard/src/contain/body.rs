//! The text between the delimiters, with the way back to the parts it was made of.

use super::{
    ContainmentMode, ContainmentPart, Neutralisation, SourceRange,
    matches::{Match, Remedy},
    mode::{base64_view, datamark_view, free_mark},
};
use crate::{finding::FindingKind, view::clean_view};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use proem_text::{Label, OffsetMap, Span, View};

/// The placeholder for text that was cut out.
const REMOVED: &str = "[removed]";
const ESCAPE: &str = "\\";

/// The parts as one text.
#[derive(Debug)]
pub(super) struct ContainmentBody {
    /// Always ends with a line break.
    pub(super) text: String,
    /// The join of the labels of the parts from outside.
    pub(super) label: Label,
    /// The runs from outside, in order, none empty.
    runs: Vec<OutsidePart>,
    /// The parts that cleaning removed.
    removed: Vec<Neutralisation>,
    /// The sign that represents spaces in marked parts.
    mark: Option<char>,
    /// Whether a part is encoded.
    is_encoded: bool,
}

/// One part from outside.
#[derive(Debug)]
struct OutsidePart {
    /// The index of the part.
    part: usize,
    /// The place in the body.
    span: Span,
    /// Whether nothing in it is escaped.
    is_exact: bool,
    /// From the run to the part's original text.
    map: OffsetMap,
}

/// A change to one run: `cut` goes, `insert` is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Splice {
    run: usize,
    cut: Span,
    insert: &'static str,
}

impl ContainmentBody {
    /// Joins our words and the clean views of the parts from outside.
    pub(super) fn join(parts: &[ContainmentPart<'_>]) -> Self {
        let mut body = Self {
            text: String::new(),
            label: Label::trusted(),
            runs: Vec::new(),
            removed: Vec::new(),
            mark: None,
            is_encoded: false,
        };
        // One sign for all parts, since the opening delimiter names one: it has to be free in each of them.
        let marked = parts.iter().filter_map(|part| match part {
            ContainmentPart::Kept(text, ContainmentMode::Datamark) => Some(text.value().as_str()),
            _ => None,
        });
        let mark = free_mark(&marked.collect::<Vec<_>>());
        for (index, part) in parts.iter().enumerate() {
            let (text, mode) = match part {
                ContainmentPart::Ours(text) => {
                    body.text.push_str(text);
                    continue;
                }
                ContainmentPart::Outside(text) => (*text, ContainmentMode::Delimit),
                ContainmentPart::Kept(text, mode) => (*text, *mode),
            };
            body.label = body.label.join(text.label());
            body.push_outside(index, mode, mark, text.value());
        }
        if !body.text.ends_with('\n') {
            body.text.push('\n');
        }
        body
    }

    /// Adds the part with the number `part`. `mark` is the sign that is free in all parts.
    fn push_outside(&mut self, part: usize, mode: ContainmentMode, mark: Option<char>, original: &str) {
        let view = clean_view(original);
        self.removed.extend(view.removed.iter().map(|(kind, span)| Neutralisation { part, span: *span, kind: *kind }));
        if view.text.is_empty() {
            return;
        }
        let view = match (mode, mark) {
            (ContainmentMode::Delimit | ContainmentMode::Exact, _) => View { text: view.text, map: view.map },
            (ContainmentMode::Datamark, Some(mark)) => {
                self.mark = Some(mark);
                datamark_view(&view, mark)
            }
            // Without a free sign the stronger mode is in: marking must not fail open.
            (ContainmentMode::Datamark, None) | (ContainmentMode::Encode, _) => {
                self.is_encoded = true;
                base64_view(&view, original.len())
            }
        };
        let start = self.text.len();
        self.text.push_str(&view.text);
        let (span, is_exact) = (Span::new(start, self.text.len()), mode == ContainmentMode::Exact);
        self.runs.push(OutsidePart { part, span, is_exact, map: view.map });
    }

    /// The modes in the opening delimiter, each with a space before it.
    pub(super) fn attributes(&self) -> String {
        let mut attributes = self.mark.map(|mark| format!(" mark={mark}")).unwrap_or_default();
        if self.is_encoded {
            attributes.push_str(" encoding=base64");
        }
        attributes
    }

    /// The places of the runs from outside.
    pub(super) fn spans(&self) -> Vec<Span> {
        self.runs.iter().map(|run| run.span).collect()
    }

    /// Whether a match changes any text: what is only escaped stays in a part that is exact.
    pub(super) fn is_changed_by(&self, found: &Match) -> bool {
        found.remedy == Remedy::Remove || self.touched(found.span).any(|(_, run, _)| !run.is_exact)
    }

    /// The parts that cleaning removed, and the matches, each in every part that it touches.
    pub(super) fn findings(&self, matches: &[Match]) -> Vec<Neutralisation> {
        let mut findings = self.removed.clone();
        let mut escaped: BTreeMap<(usize, usize, FindingKind), usize> = BTreeMap::new();
        for found in matches {
            for (_, run, span) in self.touched(found.span) {
                let finding =
                    Neutralisation { part: run.part, span: run.map.original(run.own(span)), kind: found.kind };
                // Two readings' findings at one place that one backslash mends are one thing.
                let known = match found.remedy {
                    Remedy::Escape { at } => {
                        let index = *escaped.entry((at, run.part, found.kind)).or_insert(findings.len());
                        findings.get_mut(index)
                    }
                    Remedy::Remove => None,
                };
                match known {
                    Some(known) => {
                        let (start, end) =
                            (known.span.start.min(finding.span.start), known.span.end.max(finding.span.end));
                        known.span = Span::new(start, end);
                    }
                    None => findings.push(finding),
                }
            }
        }
        findings
    }

    /// The runs that share bytes with `span`, each with its index and what is shared.
    fn touched(&self, span: Span) -> impl Iterator<Item = (usize, &OutsidePart, Span)> {
        let first = self.runs.partition_point(|run| run.span.end <= span.start);
        self.runs.iter().enumerate().skip(first).take_while(move |(_, run)| run.span.start < span.end).map(
            move |(index, run)| (index, run, Span::new(run.span.start.max(span.start), run.span.end.min(span.end))),
        )
    }

    /// The body with the matches taken apart. Our words stay as they are.
    pub(super) fn neutralise(self, matches: &[Match]) -> Self {
        let mut edits: Vec<Splice> = matches.iter().flat_map(|found| self.edits(found)).collect();
        // By run, then by place, which is the order they are written in. Several matches may ask for one backslash at
        // one place.
        edits.sort_unstable();
        edits.dedup();
        let mut edits = edits.into_iter().peekable();

        let mut text = String::with_capacity(self.text.len());
        let mut runs = Vec::with_capacity(self.runs.len());
        let mut position = 0;
        for (index, run) in self.runs.into_iter().enumerate() {
            text.push_str(self.text.get(position..run.span.start).unwrap_or_default());
            position = run.span.end;
            let own = core::iter::from_fn(|| edits.next_if(|edit| edit.run == index));
            runs.push(run.rewrite(&self.text, own, &mut text));
        }
        text.push_str(self.text.get(position..).unwrap_or_default());
        Self { text, runs, ..self }
    }

    /// The edits that take a match apart.
    fn edits(&self, found: &Match) -> Vec<Splice> {
        match found.remedy {
            Remedy::Remove => {
                self.touched(found.span).map(|(run, _, cut)| Splice { run, cut, insert: REMOVED }).collect()
            }
            Remedy::Escape { at } => self.place(found.span, at).into_iter().collect(),
        }
    }

    /// A backslash at `at`, or at the start of the next text from outside in `span`; if there is
    /// none, at the end of the last before `at`. Each splits what makes the pattern.
    fn place(&self, span: Span, at: usize) -> Option<Splice> {
        let next = self.touched(Span::new(at, span.end)).next().map(|(run, _, shared)| (run, shared.start));
        let last = || self.touched(Span::new(span.start, at)).last().map(|(run, _, shared)| (run, shared.end));
        let (run, place) = next.or_else(last)?;
        if self.runs.get(run).is_some_and(|run| run.is_exact) {
            return None;
        }
        Some(Splice { run, cut: Span::new(place, place), insert: ESCAPE })
    }

    /// The origin of each copied piece. `offset` is the start of the body in the output.
    pub(super) fn source_map(&self, offset: usize) -> Vec<SourceRange> {
        let mut ranges = Vec::new();
        for run in &self.runs {
            let start = run.span.start.saturating_add(offset);
            ranges.extend(run.map.copies().map(|(own, original)| SourceRange {
                output: Span::new(own.start.saturating_add(start), own.end.saturating_add(start)),
                part: run.part,
                original,
            }));
        }
        ranges
    }
}

impl OutsidePart {
    /// A place in the body, from the start of the run.
    fn own(&self, body: Span) -> Span {
        Span::new(body.start.saturating_sub(self.span.start), body.end.saturating_sub(self.span.start))
    }

    /// Writes the run with its edits to `out`. `text` is the body that it is in.
    fn rewrite(self, text: &str, edits: impl Iterator<Item = Splice>, out: &mut String) -> Self {
        let start = out.len();
        let mut map = OffsetMap::new();
        let mut position = self.span.start;
        let copy = |from: usize, to: usize, map: &mut OffsetMap, out: &mut String| {
            if let Some(piece) = text.get(from..to) {
                out.push_str(piece);
                map.push_verbatim(self.own(Span::new(from, to)));
            }
        };
        for edit in edits {
            copy(position, edit.cut.start, &mut map, out);
            out.push_str(edit.insert);
            map.push(edit.insert.len(), self.own(edit.cut));
            // Cuts can overlap, as two patterns may share bytes; what one took must not come back with the other.
            position = position.max(edit.cut.end);
        }
        copy(position, self.span.end, &mut map, out);
        Self { span: Span::new(start, out.len()), map: map.then(&self.map), ..self }
    }
}
