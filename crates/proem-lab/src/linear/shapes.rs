//! Texts that are written to be slow.

/// A text that repeats a unit behind a beginning.
pub(super) struct Shape {
    pub(super) name: &'static str,
    begin: &'static str,
    unit: &'static str,
}

impl Shape {
    /// The text of this length in bytes, or a little less where a character would be cut.
    pub(super) fn text(&self, length: usize) -> String {
        let mut text = self.begin.to_owned();
        text.push_str(&self.unit.repeat(length / self.unit.len() + 1));
        text.truncate(text.floor_char_boundary(length));
        text
    }
}

const fn shape(name: &'static str, begin: &'static str, unit: &'static str) -> Shape {
    Shape { name, begin, unit }
}

/// The shapes: what is searched for to its end and never ends, what begins again within itself, what nests, and what
/// decodes to itself.
pub(super) const SHAPES: [Shape; 17] = [
    shape("spaces", "", " "),
    shape("empty lines", "", "\n"),
    shape("letters", "", "a"),
    shape("open tags", "", "<a"),
    shape("closing tags", "", "</div>"),
    shape("percent signs", "", "%25"),
    shape("backslashes", "", "\\"),
    shape("keys", "sk-", "sk-a"),
    shape("brackets", "", "{\"a\":["),
    shape("quotes", "", "\"'`"),
    shape("marks", "e", "\u{301}\u{200d}"),
    shape("base64, three times", "", "Vmtkb2JFbEhlR3hrU0ZKc1kyNU5aMkl5V1dka1IyaHNTVWRHYzJOSGFHaFpiVll3"),
    shape("keys apart", "", "s.k.-.a."),
    shape("lines", "", "- a: |\n  user: <!-- # b\n"),
    shape("references", "", "&#x26;amp;"),
    shape("commands", "", "curl -o a.b !{claude --yolo $( "),
    shape("addresses", "", "a@b.example, http://a.example/?a=b\u{3002}"),
];
