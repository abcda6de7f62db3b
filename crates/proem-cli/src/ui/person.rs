//! Asking the person at the terminal.
//!
//! Invariants: nobody else is asked, and where nobody can be asked the error says what to do instead.

use proem_app::operator::{ApprovalPage, Consent, Displayed, Operator};

use super::output::{Shapes, exact_output, report_output};
use super::width::page_rows;
use super::{BOLD, aside, style_text};
use crate::failure::CommandFailure;

/// The person who may decide. `about` is what there is to decide, `otherwise` what to do where nobody can.
///
/// # Errors
///
/// If nobody can be asked.
pub(crate) fn operator(about: &str, otherwise: &str) -> Result<Operator, CommandFailure> {
    Operator::at_terminal().map_err(|absent| {
        CommandFailure::usage(format!("{about}; this needs confirmation, and {absent}, or {otherwise}"))
    })
}

/// Asks one question. Anything but yes is no.
pub(crate) fn confirm(operator: &mut Operator, question: &str) -> Result<Consent, CommandFailure> {
    let consent = operator.confirm(&on_terminal(&style_text(BOLD, question)))?;
    if consent == Consent::No {
        aside("nothing was changed\n");
    }
    Ok(consent)
}

/// Shows what a person is about to decide, to its end. `None` if the person stops before.
///
/// # Errors
///
/// If a part can't be shown: a credential is on no terminal, and a terminal may be too small.
pub(crate) fn display_pages(
    operator: &mut Operator,
    pages: &[ApprovalPage],
) -> Result<Option<Displayed>, CommandFailure> {
    if pages.iter().map(ApprovalPage::text).any(|text| exact_output(&text, Shapes::Cut) != text) {
        return Err(CommandFailure::finding(
            "it holds what looks like a credential, which no terminal shows, so it can't be decided as it is; take it \
             out or cancel it",
        ));
    }
    let displayed = operator.display(pages, &operator_rows)?;
    if displayed.is_none() {
        aside("nothing was changed\n");
    }
    Ok(displayed)
}

/// The rows of a line on the operator's terminal. Some terminals draw wider than the tables say: one cell in eight is
/// left to them.
pub(super) fn operator_rows(line: &str, columns: usize) -> Vec<String> {
    page_rows(&on_terminal(line), columns.saturating_sub(columns / 8))
}

/// A text of ours as it is written to the operator's terminal: with its colours, where there are any.
pub(super) fn on_terminal(text: &str) -> String {
    let text = report_output(text, Shapes::Cut);
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}
