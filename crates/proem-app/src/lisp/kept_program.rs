//! Programs that missions left behind: files that run again without a model.
//!
//! Invariants: such a program runs only with the tools that it was made with, by their hashes, and under the signature
//! that it was checked by. A program of a model that was shown data is kept only if a person accepts its literals, since
//! a model can retype what it saw.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proem_agents::lisp::turns::record::{MissionEnd, TurnKind};
use proem_guard::show;
use proem_lisp::{Limits, Value};
use proem_runtime::files::{self, FileAccess};
use proem_text::hex;

use super::agent::LoadedAgent;
use super::mission::MissionReport;
use super::running::agent_session;
use super::{DelimiterRepair, LispSession, LispSource};
use crate::error::Error;
use crate::trust::sha256_hex;

/// How such a file begins.
const HEAD: &str = ";; proem compiled program 1";

/// A program that a mission left, before it is kept.
#[derive(Debug)]
pub struct MissionProgram {
    source: String,
    /// Its texts, numbers and keywords, as it writes them. A person has to accept them where the model was shown data.
    pub literals: Vec<String>,
    /// Whether the model was shown data from outside before it wrote the program.
    pub has_shown: bool,
}

impl MissionProgram {
    /// The program of a mission's last turn.
    ///
    /// # Errors
    ///
    /// If the mission has no result of a program's own, or the program can't run without what earlier turns kept.
    pub fn of_mission(report: &MissionReport, agent: &LoadedAgent, limits: Limits) -> Result<Self, Error> {
        let is_returned = matches!(report.outcome.end, MissionEnd::Return { is_fallback: false, .. });
        let last = report.outcome.turns.last().filter(|turn| is_returned && turn.kind == TurnKind::Ran);
        let Some(last) = last else {
            return Err(Error::negative("nothing is compiled: the mission ended without a result of its own"));
        };
        let session = agent_session(LispSession::new(limits, Value::map([]), Value::map([])), &agent.definition);
        let source = LispSource { name: "the program".to_owned(), text: last.program.clone() };
        let uses_history = last
            .program
            .split(|c: char| "()[]{} \n\t,".contains(c))
            .any(|word| matches!(word, "*1" | "*2" | "*3") || word.starts_with("memory/"));
        if uses_history || session.check(source, DelimiterRepair::Offer).is_err() {
            return Err(Error::negative(
                "nothing is compiled: the program uses what earlier turns kept; let the mission end in one turn",
            ));
        }
        let literals = program_literals(&last.program).into_iter().collect();
        let has_shown = !report.outcome.shown.is_empty();
        Ok(Self { source: last.program.clone(), literals, has_shown })
    }

    /// Writes the program into a new file, with the hashes of what it runs with.
    ///
    /// # Errors
    ///
    /// If the file is there already or can't be written.
    pub fn write(&self, agent: &LoadedAgent, out: &Path) -> Result<(), Error> {
        let path = std::fs::canonicalize(&agent.path).unwrap_or_else(|_| agent.path.clone());
        let mut text = format!(
            "{HEAD}\n;; agent {}\n;; signature {}\n;; definitions {}\n",
            path.display(),
            agent.definition.signature,
            hex::encode_hex(agent.policy.0)
        );
        for (tool, hash) in tool_hashes(agent) {
            text.push_str(&format!(";; tool {tool} {hash}\n"));
        }
        text.push_str(&self.source);
        text.push('\n');
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = out.file_name().ok_or_else(|| Error::invalid("name a file for the program"))?;
        files::write_new(folder, Path::new(name), text.as_bytes(), FileAccess::Shared).map_err(|error| {
            let shown = show::terminal_str(&out.display().to_string()).into_string();
            Error::invalid(format!("could not write `{shown}`: {error}"))
        })
    }
}

/// The head of a compiled program.
#[derive(Debug, PartialEq, Eq)]
pub struct CompiledHead {
    /// The file of the agent whose tools it calls.
    pub agent: PathBuf,
    signature: String,
    definitions: String,
    tools: BTreeMap<String, String>,
}

impl CompiledHead {
    /// The head of a source, if it is a compiled program.
    ///
    /// # Errors
    ///
    /// If it begins like one, and its head is not whole.
    pub fn read(source: &str) -> Result<Option<Self>, Error> {
        let mut lines = source.lines();
        if lines.next() != Some(HEAD) {
            return Ok(None);
        }
        let (mut single, mut tools) = (BTreeMap::new(), BTreeMap::new());
        for line in lines.map_while(|line| line.strip_prefix(";; ")) {
            match line.split_once(' ') {
                Some(("tool", rest)) => {
                    if let Some((tool, hash)) = rest.split_once(' ') {
                        tools.insert(tool.to_owned(), hash.to_owned());
                    }
                }
                Some((name, value)) => _ = single.insert(name, value.to_owned()),
                None => {}
            }
        }
        let mut part = |name: &str| {
            let missing =
                || Error::invalid(format!("the compiled program has no `{name}` in its head; compile it again"));
            single.remove(name).ok_or_else(missing)
        };
        let agent = PathBuf::from(part("agent")?);
        Ok(Some(Self { agent, signature: part("signature")?, definitions: part("definitions")?, tools }))
    }

    /// Whether the agent is what the program was compiled with.
    ///
    /// # Errors
    ///
    /// With the differences by name, if it is not.
    pub fn check(&self, agent: &LoadedAgent) -> Result<(), Error> {
        let today = tool_hashes(agent);
        let mut differences = Vec::new();
        let signature = agent.definition.signature.to_string();
        if signature != self.signature {
            differences.push(format!("its signature was {} and is {signature}", self.signature));
        }
        let names: BTreeSet<&String> = self.tools.keys().chain(today.keys()).collect();
        for name in names {
            match (self.tools.get(name), today.get(name)) {
                (Some(before), Some(now)) if before == now => {}
                (Some(_), Some(_)) => differences.push(format!("the tool `{name}` has changed")),
                (Some(_), None) => differences.push(format!("the tool `{name}` is gone")),
                (None, _) => differences.push(format!("the tool `{name}` is new")),
            }
        }
        if differences.is_empty() && self.definitions != hex::encode_hex(agent.policy.0) {
            differences.push("its file, or a file that its tools run, has changed".to_owned());
        }
        if differences.is_empty() {
            return Ok(());
        }
        let shown = show::terminal_str(&self.agent.display().to_string()).into_string();
        let differences = show::terminal_str(&differences.join("; ")).into_string();
        Err(Error::invalid(format!(
            "the program was compiled with another version of the agent `{shown}`: {differences}; compile it again"
        )))
    }
}

/// The hash of each tool's definition, with what it answers with.
fn tool_hashes(agent: &LoadedAgent) -> BTreeMap<String, String> {
    let hash = |(name, tool): (&String, &proem_agents::lisp::ToolDefinition)| {
        let results = agent.results.get(name).map_or("", String::as_str);
        (name.clone(), sha256_hex(format!("{tool:?}\n{results}").as_bytes()))
    };
    agent.definition.tools.iter().map(hash).collect()
}

/// The texts, numbers, characters and keywords of a source, as it writes them.
fn program_literals(source: &str) -> BTreeSet<String> {
    let mut literals = BTreeSet::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => text_end(rest),
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | '\'' | '#' | '^' | '`' | '~' | '@' => first.len_utf8(),
            _ if first.is_whitespace() => first.len_utf8(),
            // A character may be a bracket.
            '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| word_end(rest, at)),
            _ => word_end(rest, first.len_utf8()),
        };
        let (word, after) = rest.split_at(end.min(rest.len()));
        let is_number = word.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
        if first == '"' || first == '\\' || first == ':' || is_number {
            literals.insert(word.to_owned());
        }
        rest = after;
    }
    literals
}

/// The end of a text that begins here.
fn text_end(rest: &str) -> usize {
    let mut is_escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at.saturating_add(1))
}

/// The end of a word whose first `from` bytes are known.
fn word_end(rest: &str, from: usize) -> usize {
    let ends = |c: char| c.is_whitespace() || "()[]{},\";".contains(c);
    rest.get(from..).and_then(|more| more.find(ends)).map_or(rest.len(), |at| from.saturating_add(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_literal_of_a_program_is_listed() {
        let source = "(tool/send {:to \"a \\\"b\\\" @c\" :n -5}) ; \"no\"\n(f #\"x+\" \\( 1.5e3 :ok)";
        let found: Vec<String> = program_literals(source).into_iter().collect();
        assert_eq!(found, ["\"a \\\"b\\\" @c\"", "\"x+\"", "-5", "1.5e3", ":n", ":ok", ":to", "\\("]);
    }

    #[test]
    fn a_head_is_read_and_a_broken_one_is_refused() {
        assert_eq!(CompiledHead::read("(+ 1 2)").unwrap(), None);
        let head = CompiledHead::read(&format!(
            "{HEAD}\n;; agent /a b\n;; signature () -> :any\n;; definitions 00\n;; tool x 11\n(+ 1 2)"
        ));
        let head = head.unwrap().unwrap();
        assert_eq!((head.agent.to_str(), head.tools.get("x").map(String::as_str)), (Some("/a b"), Some("11")));
        assert!(CompiledHead::read(&format!("{HEAD}\n(+ 1 2)")).unwrap_err().to_string().contains("no `agent`"));
    }
}
