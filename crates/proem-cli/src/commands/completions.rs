//! Completion in shells: the script that a shell loads, and the candidates that it asks for. Manual pages, which are
//! made of the same command line.
//!
//! Invariants: what is offered consists of characters that no shell takes for anything else, since bash puts it onto
//! the command line as it is. Completing starts no process and writes nothing. The shell starts this program, once.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::ValueHint;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _, complete};
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use proem_app::completion::{NamePlace, is_shell_safe};
use proem_lisp::documentation::entries;

use crate::args::CommandLine;
use crate::failure::CommandFailure;
use crate::ui;

/// The variable by which a shell asks for candidates. Its value is the shell's name.
const VARIABLE: &str = "PROEM_COMPLETE";

/// The word under the cursor, as bash cut it.
const CURRENT: &str = "_PROEM_CURRENT";
/// The line up to the cursor.
const LINE: &str = "_PROEM_LINE";

const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh]);

/// Prints the script that a shell loads.
pub(super) fn run_completions(shell: clap_complete::Shell) -> Result<ExitCode, CommandFailure> {
    let name = shell.to_string();
    let mut script = Vec::new();
    let Some(completer) = SHELLS.completer(&name) else {
        return Err(CommandFailure::usage(format!("completion in {name} is not supported")));
    };
    completer
        .write_registration(VARIABLE, "proem", "proem", "proem", &mut script)
        .map_err(|e| CommandFailure::bug("could not write the script", e))?;
    ui::data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for each command.
pub(super) fn run_man(folder: &Path) -> Result<ExitCode, CommandFailure> {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(CommandLine::command().disable_help_subcommand(true), folder));
    written.map_err(|error| {
        let shown = proem_guard::show::terminal_str(&folder.display().to_string()).into_string();
        CommandFailure::outside(format!("could not write manual pages into `{shown}`: {error}"))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks for candidates. Whether one did.
pub(crate) fn answer_shell() -> bool {
    let folder = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(|| with_names(CommandLine::command())).var(VARIABLE).shells(SHELLS);
    // Nobody can do anything about an error while a key is pressed.
    environment.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// A command whose arguments know what they may be.
fn with_names(command: Command) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = command.mut_args(with_candidates);
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_names))
}

fn with_candidates(arg: Arg) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str().to_owned());
    let completer = match (arg.get_id().as_str(), value.as_deref()) {
        ("model", _) => ArgValueCompleter::new(|begun: &OsStr| name_candidates(begun, |place, _| place.models())),
        ("provider", _) => ArgValueCompleter::new(|begun: &OsStr| name_candidates(begun, |place, _| place.providers())),
        ("prompt", _) | ("first" | "second", Some("PROMPT")) => {
            ArgValueCompleter::new(|begun: &OsStr| name_candidates(begun, |place, begun| place.prompts(begun)))
        }
        ("run" | "runs" | "first" | "second", Some("RUN" | "RUNS" | "FIRST" | "SECOND")) => {
            ArgValueCompleter::new(|begun: &OsStr| name_candidates(begun, |place, _| place.runs()))
        }
        ("signal", Some("SIGNAL")) => {
            ArgValueCompleter::new(|begun: &OsStr| name_candidates(begun, |place, _| place.signals()))
        }
        ("function", _) => ArgValueCompleter::new(language_candidates),
        ("file", Some("NAME=FILE")) => ArgValueCompleter::new(named_file),
        _ => match arg.get_value_hint() {
            ValueHint::DirPath => ArgValueCompleter::new(folder_candidates),
            ValueHint::AnyPath | ValueHint::FilePath if value.as_deref() == Some("DIR") => {
                ArgValueCompleter::new(folder_candidates)
            }
            ValueHint::AnyPath | ValueHint::FilePath => ArgValueCompleter::new(file_candidates),
            _ => return arg,
        },
    };
    arg.add(completer)
}

/// The names that go on from what is written.
fn name_candidates(begun: &OsStr, all: impl Fn(&NamePlace<'_>, &str) -> Vec<String>) -> Vec<CompletionCandidate> {
    let (Some(begun), Ok(places)) = (begun.to_str(), crate::user_places()) else { return Vec::new() };
    let Some(place) = NamePlace::find(Path::new("."), &places) else { return Vec::new() };
    let names = all(&place, begun).into_iter().filter(|name| name.starts_with(begun));
    names.map(CompletionCandidate::new).collect()
}

/// Forms and functions of PTC-Lisp.
fn language_candidates(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    let names = entries().map(|entry| entry.name).filter(|name| name.starts_with(begun) && is_shell_safe(name));
    names.map(CompletionCandidate::new).collect()
}

fn file_candidates(begun: &OsStr) -> Vec<CompletionCandidate> {
    shell_safe_paths(PathCompleter::any().complete(begun))
}

fn folder_candidates(begun: &OsStr) -> Vec<CompletionCandidate> {
    shell_safe_paths(PathCompleter::dir().complete(begun))
}

/// A file behind the name of the input that it is for.
fn named_file(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some((name, path)) = begun.to_str().and_then(|begun| begun.split_once('=')) else { return Vec::new() };
    let prefix = format!("{name}=");
    file_candidates(OsStr::new(path)).into_iter().map(|candidate| candidate.add_prefix(prefix.clone())).collect()
}

/// Paths without those that a shell could take for something else. If none is left, bash looks for files itself, and
/// quotes them.
fn shell_safe_paths(candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '@' | '-' | '+' | ',');
    let is_plain = |candidate: &CompletionCandidate| {
        candidate.get_value().to_str().is_some_and(|path| !path.starts_with('-') && path.chars().all(plain))
    };
    candidates.into_iter().filter(is_plain).collect()
}

/// Bash, which cuts `risk/decision@1` and `--model=x` into several words: here they are one again, and of a candidate
/// only what is behind the cut is offered.
#[derive(Debug)]
struct Bash;

const BASH: &str = r#"_proem() {
    local IFS=$'\v'
    COMPREPLY=( $( \
        VARIABLE=bash \
        _PROEM_CURRENT="$2" \
        _PROEM_LINE="${COMP_LINE:0:COMP_POINT}" \
        COMPLETER -- complete 2>/dev/null \
    ) )
    if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" =~ [=/]$ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -F _proem BIN
"#;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buffer: &mut dyn Write,
    ) -> Result<(), io::Error> {
        let script = BASH.replace("VARIABLE", variable).replace("COMPLETER", completer).replace("BIN", bin);
        buffer.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        _words: Vec<OsString>,
        folder: Option<&Path>,
        buffer: &mut dyn Write,
    ) -> Result<(), io::Error> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let line = BashLine::new(&variable(LINE), &variable(CURRENT));
        let index = line.words.len().saturating_sub(1);
        let words = line.words.iter().map(OsString::from).collect();
        let found = complete(command, words, index, folder)?;
        let offered = found.iter().filter_map(|candidate| candidate.get_value().to_str()?.strip_prefix(&line.before));
        buffer.write_all(offered.collect::<Vec<_>>().join("\u{b}").as_bytes())
    }
}

/// A command line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
struct BashLine {
    /// Its words, the last one that under the cursor.
    words: Vec<String>,
    /// The text of that word before the part that bash replaces.
    before: String,
}

impl BashLine {
    /// Cuts a line as the shell does before it runs it. `current` is what bash takes for the word under the cursor: a
    /// part of it, behind a character such as `=`, or with it, as with `@`.
    fn new(line: &str, current: &str) -> Self {
        let mut words = vec![String::new()];
        let (mut quote, mut is_escaped, mut is_begun) = (None, false, false);
        for c in line.chars() {
            if quote.is_none() && !is_escaped && c.is_whitespace() {
                if is_begun {
                    words.push(String::new());
                }
                is_begun = false;
                continue;
            }
            is_begun = true;
            match c {
                '\\' if !is_escaped && quote != Some('\'') => {
                    is_escaped = true;
                    continue;
                }
                '"' | '\'' if !is_escaped && quote.is_none() => quote = Some(c),
                _ if quote == Some(c) && !is_escaped => quote = None,
                _ => {
                    if let Some(word) = words.last_mut() {
                        word.push(c);
                    }
                }
            }
            is_escaped = false;
        }
        // Variables set for the command alone come before it.
        let is_setting = |word: &String| word.contains('=') && !word.starts_with(['-', '/', '=']);
        let set = words.iter().take_while(|word| is_setting(word)).count();
        words.drain(..set);
        let word = words.last().map_or("", String::as_str);
        Self { before: word.strip_suffix(current).unwrap_or_default().to_owned(), words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_spaces_alone() {
        for (line, current, words, before) in [
            ("proem run ri", "ri", &["proem", "run", "ri"][..], ""),
            ("proem run ", "", &["proem", "run", ""], ""),
            ("proem run risk/d@1.", "@1.", &["proem", "run", "risk/d@1."], "risk/d"),
            ("proem run risk/d@", "@", &["proem", "run", "risk/d@"], "risk/d"),
            ("proem book diff a/b@1.0.0 @1", "@1", &["proem", "book", "diff", "a/b@1.0.0", "@1"], ""),
            ("proem run --model=cl", "cl", &["proem", "run", "--model=cl"], "--model="),
            ("proem run --model=", "", &["proem", "run", "--model="], "--model="),
            ("A=1 proem run --file a=src/", "src/", &["proem", "run", "--file", "a=src/"], "a="),
            ("proem ask 'what is' -f no", "no", &["proem", "ask", "what is", "-f", "no"], ""),
            ("proem ask \"it's\" a\\ b", "b", &["proem", "ask", "it's", "a b"], "a "),
        ] {
            let found = BashLine::new(line, current);
            let found_words: Vec<&str> = found.words.iter().map(String::as_str).collect();
            assert_eq!((&found_words[..], found.before.as_str()), (words, before), "{line}");
        }
    }
}
