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

/// Where all of it goes.
pub(super) const FOLDER: &str = ".proem/prompts/";
const CONSTITUTION: &str = ".proem/prompts/constitution.md";
const RULES: &str = ".proem/prompts/rules.md";
const REST: &str = ".proem/prompts/rest.md";
const BASELINE: &str = ".proem/prompts/monolithic.md";

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
        account.push_str("Nothing in it reads like identity or prohibitions, so the book's constitution stays.\n");
    } else {
        for rule in missing_rules(&constitution) {
            constitution.push_str(&format!("\n{rule}\n"));
            account.push_str(&format!("Added to the constitution, which must say it: {rule}\n"));
        }
        planned.push(Planned::trusted(
            CONSTITUTION,
            constitution,
            "who the model is and what it never does; stands in for the book's",
        ));
        values.insert("assemble.paths.constitution", format!("\"{CONSTITUTION}\""));
    }
    let rules = text_of(&pieces, Part::Rules);
    if rules.is_empty() {
        account.push_str("Nothing in it reads like rules of work, so the book's rules stay.\n");
    } else {
        planned.push(Planned::trusted(RULES, rules, "how to work; stands in for the book's common rules"));
        values.insert("assemble.paths.rules", format!("\"{RULES}\""));
    }
    let rest = text_of(&pieces, Part::Rest);
    if !rest.is_empty() {
        account.push_str(&format!(
            "The rest is not put into prompts. Facts about the repository belong in AGENTS.md, lists of tools under\n\
             `tools` in proem.toml, what belongs to one task into the task; what then remains of {REST} can go.\n"
        ));
        planned.push(Planned::plain(REST, rest, "context, tools, examples; not put into prompts"));
    }
    planned.push(Planned::plain(BASELINE, text, "the prompt as it was; savings are measured against it"));
    Ok(Import { planned, values, account })
}

fn read(file: &Path) -> Result<String, Failure> {
    let shown = show::terminal_str(&file.display().to_string()).into_string();
    let bytes = match files::read_regular(file, MAX_FILE_BYTES) {
        Ok(Some(Content::Whole(bytes))) => bytes,
        Ok(Some(Content::Cut(_))) => {
            return Err(Failure::usage(format!(
                "`{shown}` is larger than {MAX_FILE_BYTES} bytes; a prompt is smaller"
            )));
        }
        Ok(None) => return Err(Failure::usage(format!("`{shown}` is not there; check the path"))),
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
    let mut out = format!("{}\n", styled(BOLD, "part          tokens  first words                       why"));
    for piece in pieces {
        out.push_str(&row(piece));
    }
    for part in [Part::Constitution, Part::Rules, Part::Rest] {
        let tokens = OpenAi::O200k.count(&text_of(pieces, part));
        out.push_str(&format!("{:12} {:>7}  in all\n", part.as_str(), grouped(tokens)));
    }
    out.push('\n');
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
            format!("it stands under `{}`", show::terminal_str(&name))
        }
        Reason::Sign(sign) => (*sign).to_owned(),
        Reason::Announces => "it announces what follows".into(),
        Reason::Closes => "it closes what stands before".into(),
        Reason::NoSign => "nothing tells".into(),
    };
    let tokens = OpenAi::O200k.count(piece.text);
    format!("{:12} {:>7}  {shown:WIDTH$}  {reason}\n", piece.part.as_str(), grouped(tokens))
}
