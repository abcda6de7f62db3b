//! The page that a person sees to its end before deciding.
//!
//! Invariants: only [`Operator::display`] makes a [`Displayed`], once the last row is written and every screen before
//! it was left by a key. Texts from outside are on a page as a whole. A terminal that is too small shows nothing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use proem_engine::policy::ProposedAction;
use proem_guard::LabelTree;
use proem_guard::show::{self, TreeCap};
use proem_text::Secrecy;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{Operator, terminal};
use crate::effects::queue::action_fields;
use crate::error::Error;

/// The label of an action's note on the page of its decision.
pub const NOTE: &str = "said with it, and not sent";

/// The cells of the longest prompt below a full screen, with room for the cursor.
const PROMPT_CELLS: usize = 60;
/// The cells of the longest question after the last screen.
const QUESTION_CELLS: usize = 160;
/// The narrowest terminal, in cells: what is left of a row behind the bars still holds a word.
const LEAST_COLUMNS: usize = 20;
/// The lowest terminal, in rows.
const LEAST_ROWS: usize = 6;

/// The rows of a text on a terminal of so many columns. None of the text may be left out.
pub type RowsOf<'r> = &'r (dyn Fn(&str, usize) -> Vec<String> + Sync);

/// The subject of a person's decision as it is displayed: first its content, then our words beside the question.
#[derive(Debug, Default)]
pub struct ApprovalPage {
    text: String,
    beside: String,
    parts: BTreeSet<[u8; 32]>,
}

impl ApprovalPage {
    /// A page without anything on it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds lines of our own.
    pub fn words(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds lines of our own that are shown after everything else, together with the question.
    pub fn beside(&mut self, text: &str) {
        self.beside.push_str(text);
    }

    /// Adds a text with its label as a whole.
    ///
    /// # Errors
    ///
    /// If a part of it is secret, since no screen shows that.
    pub fn tree(&mut self, tree: &LabelTree) -> Result<(), Error> {
        self.whole(tree)?;
        self.parts.insert(tree_part(tree)?);
        Ok(())
    }

    /// Adds everything that an action says: its fields, the target as the action names it, and the note with it.
    ///
    /// # Errors
    ///
    /// As [`Self::tree`].
    pub fn action(&mut self, action: &ProposedAction) -> Result<(), Error> {
        self.whole(action_fields(action).unwrap_or_else(|| action.tree()))?;
        if let LabelTree::Map(root) = action.tree()
            && let Some(target) = root.get("target")
        {
            self.whole(&LabelTree::map([("target", target.clone())]))?;
        }
        if let Some(note) = action.note() {
            self.whole(&LabelTree::map([(NOTE, note.clone())]))?;
        }
        self.parts.insert(action.content().0);
        Ok(())
    }

    /// Adds everything in which an edited action differs from the one before.
    ///
    /// # Errors
    ///
    /// As [`Self::tree`].
    pub fn changes(&mut self, before: &ProposedAction, after: &ProposedAction) -> Result<(), Error> {
        require_showable(after.tree())?;
        self.text.push_str(show::terminal_differences(&before.differences(after), TreeCap::WHOLE).as_str());
        self.text.push('\n');
        self.parts.insert(after.content().0);
        Ok(())
    }

    /// Everything on it.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.text, self.beside)
    }

    fn whole(&mut self, tree: &LabelTree) -> Result<(), Error> {
        require_showable(tree)?;
        self.text.push_str(show::tree(tree, TreeCap::WHOLE).as_str());
        self.text.push('\n');
        Ok(())
    }
}

/// The proof that a person was shown these parts to their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Displayed {
    parts: Arc<BTreeSet<[u8; 32]>>,
}

impl Displayed {
    fn of(pages: &[ApprovalPage]) -> Self {
        Self { parts: Arc::new(pages.iter().flat_map(|page| page.parts.iter().copied()).collect()) }
    }

    /// Whether this part was shown, by its hash.
    pub(crate) fn covers(&self, part: &[u8; 32]) -> bool {
        self.parts.contains(part)
    }

    /// Whether this text was shown.
    ///
    /// # Errors
    ///
    /// If the text can't be written down.
    pub(crate) fn covers_tree(&self, tree: &LabelTree) -> Result<bool, Error> {
        Ok(self.covers(&tree_part(tree)?))
    }
}

impl Operator {
    /// Shows pages to their end, one screen after the other: Enter goes on. `None` if the person stops before.
    ///
    /// # Errors
    ///
    /// If the terminal is gone, or too small to show anything.
    pub fn display(&mut self, pages: &[ApprovalPage], rows_of: RowsOf<'_>) -> Result<Option<Displayed>, Error> {
        let mut screens = Screens::new(pages);
        while let Some(prompt) = self.show_next(&mut screens, rows_of)? {
            if !asks_for_next_screen(self.ask(&prompt)?.as_deref()) {
                return Ok(None);
            }
        }
        Ok(Some(Displayed::of(pages)))
    }

    /// The same, waiting no longer than until `stop` is cancelled. `None` then, too.
    ///
    /// # Errors
    ///
    /// As [`Self::display`].
    pub async fn display_until(
        &mut self,
        pages: &[ApprovalPage],
        rows_of: RowsOf<'_>,
        stop: &CancellationToken,
    ) -> Result<Option<Displayed>, Error> {
        let mut screens = Screens::new(pages);
        while let Some(prompt) = self.show_next(&mut screens, rows_of)? {
            if !asks_for_next_screen(self.ask_until(&prompt, stop).await?.as_deref()) {
                return Ok(None);
            }
        }
        Ok(Some(Displayed::of(pages)))
    }

    /// Writes the next screen; what to ask before the one after it, or `None` after the last.
    fn show_next(&mut self, screens: &mut Screens, rows_of: RowsOf<'_>) -> Result<Option<String>, Error> {
        let rows = screens.next(screen_size(terminal::size(&self.terminal))?, rows_of);
        self.tell(&rows.iter().map(|row| format!("{row}\n")).collect::<String>())?;
        Ok(screens.prompt())
    }
}

/// Whether an answer asks for the next screen.
fn asks_for_next_screen(answer: Option<&str>) -> bool {
    answer.is_some_and(|answer| answer.trim_ascii().is_empty())
}

/// The screens left to show.
struct Screens {
    blocks: VecDeque<PageBlock>,
    size: Option<ScreenSize>,
    /// How many were shown.
    number: usize,
    /// How many there are on a terminal of this size.
    total: usize,
}

impl Screens {
    fn new(pages: &[ApprovalPage]) -> Self {
        let blocks = pages.iter().flat_map(PageBlock::of_page).collect();
        Self { blocks, size: None, number: 0, total: 0 }
    }

    /// The rows of the next one on a terminal that has this size now.
    fn next(&mut self, size: ScreenSize, rows_of: RowsOf<'_>) -> Vec<String> {
        if self.size.replace(size) != Some(size) {
            self.blocks.iter_mut().for_each(|block| block.fold(size.columns, rows_of));
            self.total = self.number.saturating_add(count_screens(&self.blocks, size));
        }
        self.number = self.number.saturating_add(1);
        next_screen(&mut self.blocks, size)
    }

    fn prompt(&self) -> Option<String> {
        let Self { number, total, .. } = self;
        (!self.blocks.is_empty()).then(|| format!("-- {number} of {total}: Enter goes on, q stops -- "))
    }
}

/// The hash by which a displayed text is known.
fn tree_part(tree: &LabelTree) -> Result<[u8; 32], Error> {
    let written = tree.write().map_err(|error| Error::invalid(error.to_string()))?;
    Ok(Sha256::digest(written).into())
}

fn require_showable(tree: &LabelTree) -> Result<(), Error> {
    if tree.label().secrecy() == Secrecy::Secret {
        return Err(Error::negative("a part of it is secret and can't be shown, so nobody can decide about it"));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScreenSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// The assumed size of a terminal that doesn't know its size: the size of terminals since the VT100.
const USUAL: ScreenSize = ScreenSize { columns: 80, rows: 24 };

fn screen_size(known: Option<ScreenSize>) -> Result<ScreenSize, Error> {
    let size = known.filter(|size| size.columns > 0 && size.rows > 0).unwrap_or(USUAL);
    if size.columns < LEAST_COLUMNS || size.rows < LEAST_ROWS {
        return Err(Error::invalid(format!(
            "the terminal has {} columns and {} rows, too few to show what would be decided; enlarge it to \
             {LEAST_COLUMNS} columns and {LEAST_ROWS} rows or more",
            size.columns, size.rows
        )));
    }
    Ok(size)
}

/// A part of a page.
#[derive(Debug, Clone)]
struct PageBlock {
    rows: VecDeque<String>,
    /// Whether it is on one screen where it fits there.
    is_one: bool,
}

impl PageBlock {
    fn of_page(page: &ApprovalPage) -> impl Iterator<Item = Self> {
        let block = |text: &str, is_one| Self { rows: text.lines().map(str::to_owned).collect(), is_one };
        [block(&page.text, false), block(&page.beside, true)].into_iter().filter(|block| !block.rows.is_empty())
    }

    fn fold(&mut self, columns: usize, rows_of: RowsOf<'_>) {
        self.rows = self.rows.iter().flat_map(|row| rows_of(row, columns)).collect();
    }
}

fn count_screens(blocks: &VecDeque<PageBlock>, size: ScreenSize) -> usize {
    let (mut left, mut count) = (blocks.clone(), 0_usize);
    while !left.is_empty() {
        next_screen(&mut left, size);
        count = count.saturating_add(1);
    }
    count
}

/// Takes off as much as one screen holds with its prompt, and the last one with its question.
fn next_screen(blocks: &mut VecDeque<PageBlock>, ScreenSize { columns, rows }: ScreenSize) -> Vec<String> {
    let below = |cells: usize| rows.saturating_sub(cells.div_ceil(columns.max(1))).max(1);
    let (most, most_beside) = (below(PROMPT_CELLS), below(QUESTION_CELLS));
    let mut screen = Vec::new();
    while let Some(block) = blocks.front_mut() {
        let most_here = if block.is_one { most_beside } else { most };
        let fits = screen.len().saturating_add(block.rows.len()) <= most_here;
        if block.is_one && !fits && !screen.is_empty() && block.rows.len() <= most_here {
            break;
        }
        let room = most_here.saturating_sub(screen.len()).min(block.rows.len());
        screen.extend(block.rows.drain(..room));
        if !block.rows.is_empty() {
            break;
        }
        blocks.pop_front();
    }
    screen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The screens of a terminal of so many rows, of pages given as a number of rows and of rows beside the question.
    fn screens(pages: &[(usize, usize)], rows: usize) -> Vec<usize> {
        let page = |(text, beside): &(usize, usize)| ApprovalPage {
            text: "t\n".repeat(*text),
            beside: "b\n".repeat(*beside),
            parts: BTreeSet::new(),
        };
        let pages: Vec<ApprovalPage> = pages.iter().map(page).collect();
        let mut blocks: VecDeque<PageBlock> = pages.iter().flat_map(PageBlock::of_page).collect();
        let size = ScreenSize { columns: 80, rows };
        let counted = count_screens(&blocks, size);
        let mut sizes = Vec::new();
        while !blocks.is_empty() {
            sizes.push(next_screen(&mut blocks, size).len());
        }
        assert_eq!((counted, sizes.iter().sum::<usize>()), (sizes.len(), pages_rows(&pages)));
        sizes
    }

    fn pages_rows(pages: &[ApprovalPage]) -> usize {
        pages.iter().map(|page| page.text().lines().count()).sum()
    }

    #[test]
    fn no_screen_is_fuller_than_the_terminal_and_no_row_is_lost() {
        for (pages, rows, expected) in [
            (&[(3, 2)][..], 24, &[5][..]),
            (&[(23, 2)], 24, &[23, 2]),
            (&[(22, 2)], 24, &[22, 2]),
            (&[(18, 2)], 24, &[20]),
            (&[(50, 4)], 24, &[23, 23, 8]),
            (&[(1, 30)], 24, &[22, 9]),
            (&[(10, 2), (10, 2)], 24, &[22, 2]),
            (&[(0, 0)], 24, &[]),
            (&[(7, 2)], 6, &[5, 4]),
            (&[(8, 2)], 6, &[5, 3, 2]),
        ] {
            assert_eq!(screens(pages, rows), expected, "{pages:?}");
        }
    }

    #[test]
    fn a_terminal_that_shows_too_little_is_refused() {
        let size = |columns, rows| screen_size(Some(ScreenSize { columns, rows }));
        assert!(size(20, 6).is_ok() && size(19, 6).is_err() && size(20, 5).is_err() && size(1, 1).is_err());
        assert_eq!((size(0, 0).unwrap(), screen_size(None).unwrap()), (USUAL, USUAL));
    }
}
