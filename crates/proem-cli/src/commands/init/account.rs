//! The outcome for an existing prompt: the place of each paragraph, and other notes.

use proem_agents::assemble::split::{SplitDestination, SplitParagraph, SplitReason, split_prompt, text_of_part};
use proem_engine::tokens::{OpenAi, TokenCounter as _};
use proem_guard::show;

use crate::ui::{BOLD, group_thousands, style_text};
use proem_app::init::import::PromptImport;

/// All of it.
pub(super) fn import_account(import: &PromptImport) -> String {
    let pieces = split_prompt(&import.text);
    let mut account = paragraph_table(&pieces);
    if import.constitution.is_empty() {
        account.push_str("It contains nothing like an identity or prohibitions, so the book's constitution is kept.\n");
    }
    for rule in &import.added {
        account.push_str(&format!("Added to the constitution, where it is required: {rule}\n"));
    }
    if !import.has_rules {
        account.push_str("It contains nothing like working rules, so the book's rules are kept.\n");
    }
    account.push_str(&token_change(&import.text, &pieces, &import.constitution));
    account
}

/// The place of each paragraph, with the reason.
fn paragraph_table(pieces: &[SplitParagraph<'_>]) -> String {
    let mut out = format!("{}\n", style_text(BOLD, "part           tokens  first words                       why"));
    for piece in pieces {
        out.push_str(&paragraph_row(piece));
    }
    for part in SplitDestination::ALL {
        let tokens = OpenAi::O200k.count(&text_of_part(pieces, part));
        out.push_str(&format!("{:13} {:>7}  in all\n", part.as_str(), group_thousands(tokens)));
    }
    out.push('\n');
    out
}

/// How many tokens the parts have beside the prompt that they were, and why that is another number.
fn token_change(before: &str, pieces: &[SplitParagraph<'_>], constitution: &str) -> String {
    let count = |text: &str| OpenAi::O200k.count(text);
    let own: usize = SplitDestination::ALL.into_iter().map(|part| count(&text_of_part(pieces, part))).sum();
    let added = count(constitution).saturating_sub(count(&text_of_part(pieces, SplitDestination::Constitution)));
    let before = count(before);
    let (sign, seams) =
        if own < before { ("-", before.saturating_sub(own)) } else { ("+", own.saturating_sub(before)) };
    let after = own.saturating_add(added);
    let mut out =
        format!("{} tokens (o200k) before, {} in the parts\n", group_thousands(before), group_thousands(after));
    if added > 0 {
        out.push_str(&format!("  +{}  added because a constitution must contain it\n", group_thousands(added)));
    }
    if seams > 0 {
        out.push_str(&format!(
            "  {sign}{}  blank lines, and words that count differently where the text was split\n",
            group_thousands(seams)
        ));
    }
    out.push_str("`proem assemble --explain` shows what it adds to the parts, section by section.\n\n");
    out
}

fn paragraph_row(piece: &SplitParagraph<'_>) -> String {
    const WIDTH: usize = 32;
    let words: String = piece.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first: String = words.chars().take(WIDTH).collect();
    let shown: String = show::terminal_str(&first).as_str().chars().take(WIDTH).collect();
    let reason = match &piece.reason {
        SplitReason::Title(name) => {
            let name: String = name.chars().take(WIDTH).collect();
            format!("it is under the heading `{}`", show::terminal_str(&name))
        }
        SplitReason::Sign(sign) => (*sign).to_owned(),
        SplitReason::Announces => "it introduces what follows".into(),
        SplitReason::Closes => "it ends the part before it".into(),
        SplitReason::NoSign => "nothing tells".into(),
    };
    let tokens = OpenAi::O200k.count(piece.text);
    format!("{:13} {:>7}  {shown:WIDTH$}  {reason}\n", piece.part.as_str(), group_thousands(tokens))
}
