//! The files of a change as a treemap: the larger the file, the larger its box, in the colour of its level.
//!
//! Invariants: boxes don't overlap and stay inside. A file whose size is unknown, such as a deleted one, has the smallest
//! box and not none.

use proem_agents::risk::report::FileOut;
use proem_risk::level::Level;

use crate::ui::drawing::{MARGIN, WIDTH, begin_picture, push_box, push_svg_text};
use crate::ui::{count_with_noun, cut_to_width};

/// The most boxes. The files are in order of risk.
const BOXES: usize = 40;
/// The height of the boxes, and of a picture with its words.
const HEIGHT: usize = 220;
const WHOLE: usize = HEIGHT + 70;
/// About the width of a character of a label.
const CHARACTER: usize = 7;
/// The smallest box that has a label: its width and height.
const LABELLED: (usize, usize) = (44, 18);

/// The picture. `None` of no files.
pub(super) fn file_treemap(files: &[FileOut]) -> Option<String> {
    let boxes = files.get(..files.len().min(BOXES))?;
    if boxes.is_empty() {
        return None;
    }
    let mut out = begin_picture("Files of the change by size and level", WHOLE);
    // The largest first, so that rows have boxes of like size.
    let mut sorted: Vec<&FileOut> = boxes.iter().collect();
    sorted.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.path.cmp(&b.path)));
    let room = (WIDTH - 2 * MARGIN, HEIGHT);
    for (file, place) in sorted.iter().zip(tile_boxes(&sizes(&sorted), room)) {
        push_file(file, place, &mut out);
    }
    let left_out = files.len().saturating_sub(boxes.len());
    let more = if left_out == 0 { String::new() } else { format!("; {left_out} less risky files are left out") };
    let words = format!("size: lines after the change; colour: level, as in the table{more}");
    push_svg_text(&mut out, "dim", (MARGIN, WHOLE.saturating_sub(18)), &words);
    out.push_str("</svg>\n");
    Some(out)
}

/// The sizes of boxes. The smallest is a two-hundredth of all lines, so that it can be seen.
fn sizes(files: &[&FileOut]) -> Vec<usize> {
    let lines = |file: &&FileOut| usize::try_from(file.lines.unwrap_or(0)).unwrap_or(usize::MAX);
    let least = (files.iter().map(lines).fold(0, usize::saturating_add) / 200).max(1);
    files.iter().map(|file| lines(file).max(least)).collect()
}

/// Places for boxes of these sizes, row by row (strip treemap: Bederson, Shneiderman, Wattenberg, "Ordered and quantum
/// treemaps", 2002). A row takes boxes as long as that makes its last box squarer.
fn tile_boxes(sizes: &[usize], (width, height): (usize, usize)) -> Vec<[usize; 4]> {
    let all = sizes.iter().copied().fold(0, usize::saturating_add).max(1);
    let mut places = Vec::new();
    let (mut rest, mut done) = (sizes, 0_usize);
    while !rest.is_empty() {
        let taken = (1..rest.len())
            .find(|taken| {
                elongation(rest, *taken, (all, width, height)) <= elongation(rest, taken + 1, (all, width, height))
            })
            .unwrap_or(rest.len());
        let (row, behind) = rest.split_at(taken);
        let in_row = row.iter().copied().fold(0, usize::saturating_add);
        let edge = |size: usize| size.saturating_mul(height) / all;
        let (top, bottom) = (edge(done), edge(done.saturating_add(in_row)));
        let mut before = 0_usize;
        for size in row {
            let edge = |size: usize| size.saturating_mul(width) / in_row.max(1);
            let (left, right) = (edge(before), edge(before.saturating_add(*size)));
            places.push([left, top, right.saturating_sub(left), bottom.saturating_sub(top)]);
            before = before.saturating_add(*size);
        }
        done = done.saturating_add(in_row);
        rest = behind;
    }
    places
}

/// How far the last of `taken` boxes in a row is from a square, in thousandths: 1000 is one.
fn elongation(sizes: &[usize], taken: usize, (all, width, height): (usize, usize, usize)) -> usize {
    let row = sizes.get(..taken).unwrap_or_default();
    let in_row = row.iter().copied().fold(0, usize::saturating_add).max(1);
    let high = (in_row.saturating_mul(height) / all).max(1);
    let wide = (row.last().copied().unwrap_or(0).saturating_mul(width) / in_row).max(1);
    (wide.saturating_mul(1000) / high).max(high.saturating_mul(1000) / wide)
}

fn push_file(file: &FileOut, [left, top, width, height]: [usize; 4], out: &mut String) {
    let (x, y) = (left.saturating_add(MARGIN), top.saturating_add(MARGIN));
    let lines = file.lines.map_or_else(|| "size unknown".to_owned(), |lines| count_with_noun(u64::from(lines), "line"));
    let title = format!("{}: {}, {lines}", file.path, file.risk_level.as_str());
    let place = [x, y, width.saturating_sub(2).max(1), height.saturating_sub(2).max(1)];
    push_box(out, level_class(file.risk_level), place, Some(&title));
    if width >= LABELLED.0 && height >= LABELLED.1 {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let name = cut_to_width(name, width.saturating_sub(10) / CHARACTER);
        push_svg_text(out, "label", (x.saturating_add(5), y.saturating_add(14)), &name);
    }
}

/// The colour of a level.
pub(super) const fn level_class(level: Level) -> &'static str {
    match level {
        Level::Low => "rules",
        Level::Medium => "untrusted",
        Level::High => "bad",
        Level::Unknown => "empty",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Boxes are inside, cover the whole width of each row, and don't overlap.
        #[test]
        fn boxes_tile_the_picture(sizes in proptest::collection::vec(1_usize..5000, 1..40)) {
            let room = (800, 200);
            let places = tile_boxes(&sizes, room);
            prop_assert_eq!(places.len(), sizes.len());
            let area: usize = places.iter().map(|[_, _, width, height]| width * height).sum();
            prop_assert_eq!(area, room.0 * room.1);
            for (index, [left, top, width, height]) in places.iter().enumerate() {
                prop_assert!(left + width <= room.0 && top + height <= room.1);
                let overlaps = |other: &[usize; 4]| {
                    other[0] < left + width && *left < other[0] + other[2]
                        && other[1] < top + height && *top < other[1] + other[3]
                };
                prop_assert!(!places.iter().skip(index + 1).any(overlaps));
            }
        }
    }
}
