//! `proem init --from`: an existing prompt, split into the parts of Proem's.

use std::path::Path;

use proem_agents::assemble::split::{Part, Piece, Reason, missing_rules, split, text_of};
use proem_engine::prompt::file::MAX_FILE_BYTES;
use proem_engine::tokens::{OpenAi, TokenCounter};
use proem_guard::show;
use proem_runtime::files::{self, Content};

use super::Planned;
use super::config::Values;
use crate::failure::Failure;
use crate::ui::{BOLD, grouped, styled};

const CONSTITUTION: &str = ".proem/prompts/constitution.md";
const RULES: &str = ".proem/prompts/rules.md";
const PROJECT: &str = ".proem/rules.md";
/// The prompt as it was.
pub(super) const BASELINE: &str = ".proem/prompts/monolithic.md";

/// What becomes of an existing prompt.
#[derive(Debug)]
pub(super) struct Import {
    /// The files to write.
    pub(super) planned: Vec<Planned>,
    /// What `proem.toml` has to say about them.
    pub(super) values: Values,
    /// Where each paragraph went, and what else there is to know.
    pub(super) account: String,
}

/// Reads and splits a prompt.
pub(super) fn import(file: &Path) -> Result<Import, Failure> {
    let text = read(file)?;
    let pieces = split(&text);
    let mut account = table(&pieces);
    let mut planned = Vec::new();
    let mut values = Values::from([("baseline", format!("\"{BASELINE}\""))]);
    let mut constitution = text_of(&pieces, Part::Constitution);
    if constitution.is_empty() {
        account.push_str("It contains nothing like an identity or prohibitions, so the book's constitution is kept.\n");
    } else {
        for rule in missing_rules(&constitution) {
            constitution.push_str(&format!("\n{rule}\n"));
            account.push_str(&format!("Added to the constitution, where it is required: {rule}\n"));
        }
        planned.push(Planned::trusted(
            CONSTITUTION,
            constitution.clone(),
            "who the model is and what it never does; replaces the book's constitution",
        ));
        values.insert("assemble.paths.constitution", format!("\"{CONSTITUTION}\""));
    }
    let rules = text_of(&pieces, Part::Rules);
    if rules.is_empty() {
        account.push_str("It contains nothing like working rules, so the book's rules are kept.\n");
    } else {
        planned.push(Planned::trusted(RULES, rules, "how to work; replaces the book's common rules"));
        values.insert("assemble.paths.rules", format!("\"{RULES}\""));
    }
    account.push_str(&difference(&text, &pieces, &constitution));
    let project = text_of(&pieces, Part::Project);
    if !project.is_empty() {
        planned.push(Planned::trusted(
            PROJECT,
            project,
            "context, tools, examples and anything else about the project",
        ));
    }
    planned.push(Planned::plain(BASELINE, text, "the original prompt; token savings are measured against it"));
    Ok(Import { planned, values, account })
}

fn read(file: &Path) -> Result<String, Failure> {
    let shown = show::terminal_str(&file.display().to_string()).into_string();
    let bytes = match files::read_regular(file, MAX_FILE_BYTES) {
        Ok(Some(Content::Whole(bytes))) => bytes,
        Ok(Some(Content::Cut(_))) => {
            return Err(Failure::usage(format!(
                "`{shown}` is larger than {MAX_FILE_BYTES} bytes; name a smaller file"
            )));
        }
        Ok(None) => return Err(Failure::usage(format!("`{shown}` does not exist; check the path"))),
        Err(error) => return Err(Failure::usage(error.to_string())),
    };
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("`{shown}` is not UTF-8; save it as UTF-8")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("`{shown}` is empty; name a file that holds a prompt")));
    }
    Ok(text)
}

/// Where each paragraph went and why.
fn table(pieces: &[Piece<'_>]) -> String {
    let mut out = format!("{}\n", styled(BOLD, "part           tokens  first words                       why"));
    for piece in pieces {
        out.push_str(&row(piece));
    }
    for part in Part::ALL {
        let tokens = OpenAi::O200k.count(&text_of(pieces, part));
        out.push_str(&format!("{:13} {:>7}  in all\n", part.as_str(), grouped(tokens)));
    }
    out.push('\n');
    out
}

/// How many tokens the parts have beside the prompt that they were, and why that is another number.
fn difference(before: &str, pieces: &[Piece<'_>], constitution: &str) -> String {
    let count = |text: &str| OpenAi::O200k.count(text);
    let own: usize = Part::ALL.into_iter().map(|part| count(&text_of(pieces, part))).sum();
    let added = count(constitution).saturating_sub(count(&text_of(pieces, Part::Constitution)));
    let before = count(before);
    let (sign, seams) =
        if own < before { ("-", before.saturating_sub(own)) } else { ("+", own.saturating_sub(before)) };
    let after = own.saturating_add(added);
    let mut out = format!("{} tokens (o200k) before, {} in the parts\n", grouped(before), grouped(after));
    if added > 0 {
        out.push_str(&format!("  +{}  added because a constitution must contain it\n", grouped(added)));
    }
    if seams > 0 {
        out.push_str(&format!(
            "  {sign}{}  blank lines, and words that count differently where the text was split\n",
            grouped(seams)
        ));
    }
    out.push_str("`proem assemble --explain` shows what it adds to the parts, section by section.\n\n");
    out
}

fn row(piece: &Piece<'_>) -> String {
    const WIDTH: usize = 32;
    let words: String = piece.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first: String = words.chars().take(WIDTH).collect();
    let shown: String = show::terminal_str(&first).as_str().chars().take(WIDTH).collect();
    let reason = match &piece.reason {
        Reason::Title(name) => {
            let name: String = name.chars().take(WIDTH).collect();
            format!("it is under the heading `{}`", show::terminal_str(&name))
        }
        Reason::Sign(sign) => (*sign).to_owned(),
        Reason::Announces => "it introduces what follows".into(),
        Reason::Closes => "it ends the part before it".into(),
        Reason::NoSign => "nothing tells".into(),
    };
    let tokens = OpenAi::O200k.count(piece.text);
    format!("{:13} {:>7}  {shown:WIDTH$}  {reason}\n", piece.part.as_str(), grouped(tokens))
}
