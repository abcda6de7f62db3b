//! Parts that all pictures share: a card with a title, its colours on light and dark pages, and escaped text.
//!
//! Invariants: no script, no address, no font that has to be fetched.

use super::page::escape_page_text;

/// The width of a drawing, in its own units.
pub(crate) const WIDTH: usize = 880;
/// The space around it.
pub(crate) const MARGIN: usize = 24;

const STYLE: &str = "\
<style>
text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.dim { fill: #59636e; font-size: 12px }
.number { text-anchor: end; font-variant-numeric: tabular-nums }
.card { fill: #ffffff; stroke: #d1d9e0 }
.label { fill: #11181f; font-size: 12px }
.line { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3; fill: none }
.constitution { fill: #1a7f4b } .rules { fill: #4fb286 } .trusted { fill: #3b7dd8 }
.untrusted { fill: #d9822b } .task { fill: #8250df } .empty { fill: #d1d9e0 } .bad { fill: #cf222e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .dim { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .line { stroke: #9198a1 }
.constitution { fill: #2ea36a } .rules { fill: #7fd4ad } .trusted { fill: #5c9dff }
.untrusted { fill: #f0a04b } .task { fill: #a97bff } .empty { fill: #3d444d } .bad { fill: #ff7b72 }
}
</style>
";

/// The beginning of a picture of this height: its title for readers of screens, its colours and its card.
pub(crate) fn begin_picture(title: &str, height: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{0}\">\n<title>{0}</title>\n{STYLE}\
         <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{1}\" height=\"{2}\" rx=\"10\"/>\n",
        escape_page_text(title),
        WIDTH - 1,
        height.saturating_sub(1)
    )
}

/// A line of text with the given classes, whose base line begins or ends at a point.
pub(crate) fn push_svg_text(out: &mut String, class: &str, (x, y): (usize, usize), words: &str) {
    out.push_str(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escape_page_text(words)));
}

/// A rectangle: its left upper corner and its size. One with a title explains itself under the pointer.
pub(crate) fn push_box(out: &mut String, class: &str, place: [usize; 4], title: Option<&str>) {
    let [x, y, width, height] = place;
    let end =
        title.map_or_else(|| "/>".to_owned(), |title| format!("><title>{}</title></rect>", escape_page_text(title)));
    out.push_str(&format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\"{end}\n"
    ));
}
