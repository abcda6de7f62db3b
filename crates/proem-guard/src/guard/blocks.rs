//! Cuts a text into blocks that overlap.

use proem_text::Span;

/// The most bytes in a block.
const BLOCK: usize = 256 * 1024;

/// How many bytes two neighbours share at least, so that what is shorter is whole in one.
const OVERLAP: usize = 4 * 1024;

/// How many bytes before its limit a block may end, to end at whitespace.
const SLACK: usize = 4 * 1024;

/// The blocks of a text in order. None of an empty text.
pub(super) fn overlapping_blocks(text: &str) -> impl Iterator<Item = Span> {
    let mut next = (!text.is_empty()).then_some(0usize);
    core::iter::from_fn(move || {
        let start = next?;
        let limit = start.saturating_add(BLOCK);
        if limit >= text.len() {
            next = None;
            return Some(Span::new(start, text.len()));
        }
        let end = block_border(text, limit);
        // The slack is far smaller than a block, so each block begins behind the last.
        next = Some(block_border(text, end.saturating_sub(OVERLAP)));
        Some(Span::new(start, end))
    })
}

/// A place at or before `limit` to cut at: behind a line break, else behind a space, else between
/// two characters.
fn block_border(text: &str, limit: usize) -> usize {
    let from = text.floor_char_boundary(limit.saturating_sub(SLACK));
    let to = text.floor_char_boundary(limit);
    let near = text.get(from..to).unwrap_or_default();
    let behind = |at: usize| from.saturating_add(at).saturating_add(1);
    near.rfind('\n').or_else(|| near.rfind(' ')).map_or(to, behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_one_block() {
        assert_eq!(overlapping_blocks("").count(), 0);
        assert_eq!(overlapping_blocks("abc").collect::<Vec<_>>(), [Span::new(0, 3)]);
    }

    #[test]
    fn blocks_end_behind_a_line_or_a_word_if_one_is_near() {
        for (unit, last) in [("word ", ' '), ("line of words\n", '\n'), ("x", 'x'), ("語", '語')] {
            let text = unit.repeat(700_000 / unit.len());
            let first = overlapping_blocks(&text).next().unwrap();
            assert!(text.get(..first.end).unwrap().ends_with(last), "{unit:?}");
            assert!(first.end > BLOCK - SLACK && first.end <= BLOCK, "{unit:?}: {first:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn together_they_are_the_text(unit in "[a-z \n\u{e9}\u{8a9e}]{1,40}", length in 1usize..1_200_000) {
            let text = unit.repeat(length.div_ceil(unit.len()));
            let mut covered = 0;
            let mut last = None;
            for block in overlapping_blocks(&text) {
                prop_assert!(text.get(block.start..block.end).is_some());
                prop_assert!(block.start <= covered && block.end > covered && block.len() <= BLOCK);
                if let Some(last) = last {
                    prop_assert!(covered.abs_diff(block.start) >= OVERLAP && block.start > last);
                }
                (covered, last) = (block.end, Some(block.start));
            }
            prop_assert_eq!(covered, text.len());
        }
    }
}
