//! Words of a person's that begin with a hyphen: `proem find "-Wall breaks the build"`.
//!
//! To clap, a hyphen begins an option. Words have a blank, and no option's name has one.

use std::convert::Infallible;
use std::ffi::OsString;

use clap::Command;

/// Commands whose first argument is a person's words.
const COMMANDS: [&str; 4] = ["ask", "assemble", "find", "select"];

/// The command line, with a blank before each argument that is words and begins with a hyphen. [`unmark_hyphen_words`]
/// takes it away.
pub(crate) fn mark_hyphen_words(line: &Command, arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let named = arguments.get(1).and_then(|name| name.to_str()).filter(|name| COMMANDS.contains(name));
    let Some(command) = named.and_then(|name| line.find_subcommand(name)) else { return arguments };
    for argument in arguments.iter_mut().skip(2).take_while(|argument| *argument != "--") {
        if let Some(text) = argument.to_str().filter(|text| is_words(text, command)) {
            *argument = format!(" {text}").into();
        }
    }
    arguments
}

/// Whether an argument is words that begin with a hyphen, and no option with its value.
fn is_words(text: &str, command: &Command) -> bool {
    let Some((head, _)) = text.split_once(char::is_whitespace).filter(|_| text.starts_with('-')) else { return false };
    if let Some(long) = head.strip_prefix("--") {
        let name = long.split_once('=').map(|(name, _)| name);
        return !name.is_some_and(|name| command.get_arguments().any(|option| option.get_long() == Some(name)));
    }
    let short = head.chars().nth(1);
    !(short.is_some() && command.get_arguments().any(|option| option.get_short() == short))
}

/// A person's words, without the blank of [`mark_hyphen_words`].
pub(crate) fn unmark_hyphen_words(text: &str) -> Result<String, Infallible> {
    Ok(text.strip_prefix(' ').filter(|rest| rest.starts_with('-')).unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::CommandLine;
    use clap::CommandFactory as _;

    #[test]
    fn only_words_get_a_blank() {
        for (arguments, expected) in [
            (["find", "-Wall breaks the build"], " -Wall breaks the build"),
            (["find", "--multiline with --only prints twice"], " --multiline with --only prints twice"),
            (["assemble", "- [ ] fix the list"], " - [ ] fix the list"),
            (["find", "--root=my folder"], "--root=my folder"),
            (["ask", "-fmy file.rs"], "-fmy file.rs"),
            (["find", "--jsno"], "--jsno"),
            (["find", "-"], "-"),
            (["scan", "-a file"], "-a file"),
        ] {
            let line = ["proem"].iter().chain(&arguments).map(OsString::from);
            assert_eq!(mark_hyphen_words(&CommandLine::command(), line).last().unwrap(), expected, "{arguments:?}");
        }
        let behind = ["proem", "find", "--", "-a b"].map(OsString::from);
        assert_eq!(
            mark_hyphen_words(&CommandLine::command(), behind.clone().into_iter()),
            behind,
            "everything behind `--` is words to clap"
        );
    }

    #[test]
    fn the_blank_is_taken_away() {
        for (text, expected) in [(" -a b", "-a b"), ("-a", "-a"), (" a", " a"), ("a", "a"), ("", "")] {
            assert_eq!(unmark_hyphen_words(text).unwrap(), expected);
        }
    }
}

/// Every example of every `--help`.
#[cfg(test)]
mod examples {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::CommandLine;

    /// The texts of examples below a command.
    fn examples(command: &Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace("\\\n", " ");
        found.extend(help.lines().map(|line| line.trim().to_owned()).filter(|line| line.contains("proem ")));
        command.get_subcommands().for_each(|command| examples(command, found));
    }

    /// The commands of a line of a shell, each as its arguments: quotes, pipes, `$( )`, redirections and comments.
    fn commands(line: &str) -> Vec<Vec<String>> {
        let (mut commands, mut word, mut quote) = (vec![Vec::new()], None::<String>, None);
        let mut letters = line.chars().peekable();
        while let Some(c) = letters.next() {
            let command = commands.last_mut().unwrap();
            match (c, quote) {
                ('\\', Some('"') | None) => word.get_or_insert_default().extend(letters.next()),
                (c, Some(mark)) if c == mark => quote = None,
                (c, Some(_)) => word.get_or_insert_default().push(c),
                ('"' | '\'', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                ('#', None) if word.is_none() => break,
                ('|' | ';' | '&' | '(' | ')' | '<' | '>', None) => {
                    command.extend(word.take());
                    commands.push(Vec::new());
                }
                (' ', None) => command.extend(word.take()),
                (c, None) => word.get_or_insert_default().push(c),
            }
        }
        commands.last_mut().unwrap().extend(word);
        commands
    }

    #[test]
    fn every_example_of_every_help_is_understood() {
        let mut found = Vec::new();
        examples(&CommandLine::command(), &mut found);
        let mut count = 0;
        for line in &found {
            for arguments in
                commands(line).into_iter().filter(|arguments| arguments.first().is_some_and(|name| name == "proem"))
            {
                let parsed = CommandLine::try_parse_from(mark_hyphen_words(
                    &CommandLine::command(),
                    arguments.iter().map(OsString::from),
                ));
                let problem = parsed.err().filter(clap::Error::use_stderr);
                assert!(problem.is_none(), "{line}\n{arguments:?}\n{}", problem.unwrap());
                count += 1;
            }
        }
        assert!(count >= 150, "{count} examples");
    }
}
