//! The files found for a task: each with its evidence, the part of it that is in the prompt, and the reason that there
//! is no more.

use proem_agents::assemble::task_context::{FoundAccount, OVER_BUDGET};
use proem_app::assemble::TaskFinding;
use proem_engine::section::Rung;
use proem_guard::show;

use super::{BOLD, DIM, GREEN, SHOWN, YELLOW, push_account_line, style_text};

/// The longest line about one file, in characters.
const LONGEST: usize = 300;

/// Writes the table.
pub(super) fn push_found_table(accounts: &[FoundAccount], finding: &TaskFinding, out: &mut String) {
    let context = &finding.context;
    let (files, milliseconds) = (context.files.len(), finding.took.as_millis());
    let s = if files == 1 { "" } else { "s" };
    out.push('\n');
    push_account_line(out, &format!("{}  {files} file{s} found in {milliseconds} ms", style_text(BOLD, "context")));
    for (index, file) in context.files.iter().enumerate() {
        let account = accounts.iter().find(|account| account.index == index);
        let shown = account.and_then(|account| account.shown);
        let (style, word) = match shown {
            Some(rung) => (GREEN, rung.as_str()),
            None => (DIM, Rung::Omitted.as_str()),
        };
        let path = show::terminal_capped(&file.path, SHOWN);
        let why = show::terminal_capped(&file.why(), LONGEST);
        let reason = account.and_then(|account| account.reason);
        let reason = reason.map(|reason| format!("  {}", style_text(YELLOW, reason))).unwrap_or_default();
        let semicolon = if file.evidence.is_empty() { "" } else { "; " };
        let of = style_text(style, &format!("{word:7}"));
        push_account_line(out, &format!("  {:>3} %  {of}  {path}: {}{semicolon}{why}{reason}", file.likely, file.kind));
    }
    if accounts.iter().any(|account| account.reason == Some(OVER_BUDGET)) {
        let hint = "  files share a part of the prompt, 75 % unless `assemble.code_share` says another, whatever --budget leaves over";
        push_account_line(out, &style_text(DIM, hint));
    }
    if let Some(change) = &context.change {
        let files = change.files.len();
        push_account_line(
            out,
            &format!("  the change: {} ({files} file{})", change.of, if files == 1 { "" } else { "s" }),
        );
    }
    for commit in &context.commits {
        push_account_line(out, &style_text(DIM, &format!("  commit {}", show::terminal_capped(commit, SHOWN))));
    }
}
