//! The one program in a model's answer.

use std::ops::Range;

/// The words behind a fence that mean a program.
const WORDS: [&str; 5] = ["clojure", "clj", "lisp", "ptc-lisp", "edn"];
/// The characters allowed before a program without a fence: spaces and invisible ones.
const BEFORE: [char; 7] = [' ', '\t', '\r', '\n', '\u{feff}', '\u{200b}', '\u{2060}'];

/// Why an answer has no program that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockProblem {
    /// There is none.
    Missing,
    /// There is more than one.
    Several,
}

/// The program of an answer: its one fenced block of Clojure or Lisp, or all of it if it begins with `(`.
///
/// A block without a word counts where it begins with `(` and there is none with a word. Blocks of other languages are
/// prose. A block that nothing ends goes on to the end.
pub(super) fn program_block(answer: &str) -> Result<&str, BlockProblem> {
    let blocks = fenced_blocks(answer);
    let named: Vec<&FencedBlock<'_>> = blocks.iter().filter(|block| is_program_word(block.word)).collect();
    let text = |block: &FencedBlock<'_>| answer.get(block.inner.clone()).unwrap_or_default();
    let unnamed: Vec<&FencedBlock<'_>> =
        blocks.iter().filter(|block| block.word.is_empty() && begins_program(text(block))).collect();
    let found = if named.is_empty() { unnamed } else { named };
    match found.as_slice() {
        [block] => Ok(text(block)),
        [] if blocks.is_empty() && begins_program(answer) => Ok(answer),
        [] => Err(BlockProblem::Missing),
        _ => Err(BlockProblem::Several),
    }
}

fn begins_program(text: &str) -> bool {
    text.trim_start_matches(BEFORE).starts_with('(')
}

fn is_program_word(word: &str) -> bool {
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

struct FencedBlock<'a> {
    word: &'a str,
    inner: Range<usize>,
}

/// The fenced blocks of a text, in order, by the rules of Markdown that models keep.
fn fenced_blocks(text: &str) -> Vec<FencedBlock<'_>> {
    let (mut blocks, mut open, mut at) = (Vec::new(), None, 0_usize);
    for line in text.split_inclusive('\n') {
        let start = at;
        at = at.saturating_add(line.len());
        let fence = fence_of(line);
        match (&open, fence) {
            (None, Some((mark, length, rest))) => open = Some((mark, length, rest, at)),
            (Some((mark, length, word, from)), Some((closing, its, rest)))
                if *mark == closing && its >= *length && rest.is_empty() =>
            {
                blocks.push(FencedBlock { word, inner: *from..start });
                open = None;
            }
            _ => {}
        }
    }
    if let Some((_, _, word, from)) = open {
        blocks.push(FencedBlock { word, inner: from..text.len() });
    }
    blocks
}

/// The mark of a line that is a fence, how often it stands there, and the first word behind it.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_matches(BEFORE);
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len().saturating_sub(rest.len());
    // A line such as "```(+ 1 2)```" is code within a line, and no fence.
    (length >= 3 && !rest.contains(mark)).then(|| (mark, length, rest.split_whitespace().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: Result<&str, BlockProblem>) {
        assert_eq!(program_block(answer).map(str::trim), expected, "{answer:?}");
    }

    #[test]
    fn one_fenced_block_is_the_program_whatever_stands_around_it() {
        check("```clojure\n(+ 1 2)\n```", Ok("(+ 1 2)"));
        check("Here it is:\n\n```lisp\n(+ 1 2)\n```\nDone.", Ok("(+ 1 2)"));
        check("  ~~~ Clojure title\n(str \"```\")\n~~~", Ok("(str \"```\")"));
        check("```json\n{}\n```\n```clojure\n(a)\n```", Ok("(a)"));
        check("```\n(+ 1 2)\n```", Ok("(+ 1 2)"));
        check("```clojure\r\n(+ 1 2)\r\n```\r\n", Ok("(+ 1 2)"));
        check("```clojure\n(+ 1 2)", Ok("(+ 1 2)"));
        check("````clojure\n(str \"\n```\n\")\n````", Ok("(str \"\n```\n\")"));
    }

    #[test]
    fn a_text_that_begins_with_a_bracket_is_a_program() {
        check("(+ 1 2)", Ok("(+ 1 2)"));
        check("\u{feff} \n(do\n 1)", Ok("\u{feff} \n(do\n 1)"));
    }

    #[test]
    fn no_block_and_several_blocks_are_told_apart() {
        check("", Err(BlockProblem::Missing));
        check("I can't do that.", Err(BlockProblem::Missing));
        check("```json\n{\"a\": 1}\n```", Err(BlockProblem::Missing));
        check("```\nsome words\n```", Err(BlockProblem::Missing));
        check("Use ```(+ 1 2)``` here", Err(BlockProblem::Missing));
        check("```clojure\n(a)\n```\n```clojure\n(b)\n```", Err(BlockProblem::Several));
        check("```lisp\n(a)\n```\nor\n```clj\n(b)\n```", Err(BlockProblem::Several));
    }

    #[test]
    fn ten_megabytes_are_read_in_one_go() {
        let prose = "`` not a fence ``` at all\n".repeat(400_000);
        check(&prose, Err(BlockProblem::Missing));
        let fences = "```\n".repeat(2_500_000);
        check(&fences, Err(BlockProblem::Missing));
    }
}
