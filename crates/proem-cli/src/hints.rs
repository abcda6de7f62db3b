//! The remedies in the words of this program: its flags and commands.

use proem_app::message::Message;
use proem_app::{Hint, Note};

/// How a person chooses another mode than the one that nothing chose.
pub(crate) const OTHERWISE: &str = "choose another mode with --mode act or --mode review";

/// A message with what could be done behind it.
pub(crate) fn message_with_remedy(message: &Message) -> String {
    format!("{}{}", message.text, message.hint.as_ref().map(remedy_tail).unwrap_or_default())
}

/// A note as one line.
pub(crate) fn of_note(note: &Note) -> String {
    message_with_remedy(&note.message)
}

/// The remedy behind a message, its separator included.
pub(crate) fn remedy_tail(hint: &Hint) -> String {
    match hint {
        Hint::ChooseMode => format!("; {OTHERWISE}"),
        Hint::ChooseDepth => "; `--context parts` shows their code all the same".to_owned(),
        Hint::NameFolder => "; --root takes the folder that the task is about".to_owned(),
        Hint::SetUpTriage => "; `proem triage init` writes it".to_owned(),
        Hint::ReviewTrust => "; review with `proem trust`".to_owned(),
        Hint::ChooseFolder => ", or choose another --root".to_owned(),
        Hint::EndEditing { path } => format!("; `proem trust revoke {path}` ends that"),
        Hint::TrustFiles => "; run `proem trust`".to_owned(),
        Hint::SeeEveryKey => "; `proem init --print` prints every key".to_owned(),
        Hint::ReadWhole => "; run `proem find --wait` to see it read".to_owned(),
        Hint::ListRuns { all: false } => "; `proem runs list` lists the runs".to_owned(),
        Hint::ListRuns { all: true } => "; `proem runs list --any` lists what else is recorded".to_owned(),
        Hint::ListAttempts => "; `proem runs show` lists the attempts of a run".to_owned(),
        Hint::TakeWorktree => ", or use `--worktree` for what is not committed".to_owned(),
        Hint::DeclineRecords => "; `--no-record` continues without them".to_owned(),
        Hint::ExportRest => "; `proem runs export --otlp` sends the rest".to_owned(),
        Hint::SendAssembly => {
            "; `proem assemble TASK` makes the prompt, and `proem assemble TASK --send` asks a model with it".to_owned()
        }
        Hint::ListQueue => "; `proem queue list` lists them".to_owned(),
        Hint::ListEscalations => "; `proem escalations list` lists them".to_owned(),
        Hint::ListSignals => "; `proem triage signals --since 30d` lists them".to_owned(),
        Hint::ListFailures => "; `proem failures list` lists the agents".to_owned(),
        Hint::ListCatalogue => "; `proem catalogue list` shows the names".to_owned(),
        Hint::MeasureCounts => "; `proem cost fit` compares it with recorded calls".to_owned(),
        Hint::NameModel { or_set } => format!("; name one of its models with --model, or set {or_set}"),
        Hint::NameProvider(known) => {
            format!(
                "\n  name any other model as PROVIDER/MODEL, or choose its provider with --provider from {}",
                known.join(", ")
            )
        }
        Hint::ChooseProvider(hosts) => format!("; choose --provider from {}", hosts.join(", ")),
        Hint::Record => "; leave out --no-record".to_owned(),
        Hint::CalibrateGuard => "; create a new one with `proem scan --calibrate`".to_owned(),
        Hint::FitFactors => "; delete it, then create it again with `proem cost fit --apply`".to_owned(),
        Hint::CheckCatalogue => "; `proem catalogue check` lists them".to_owned(),
        Hint::SeeLearned { prompt } => format!("; see `proem adapt {prompt}`"),
        Hint::SeeRun { run } => format!("; see `proem runs show {run}`"),
        Hint::ExplainOrFallBack => {
            "; --explain shows what was wrong, and `fallback` in the prompt file gives a value for this case".to_owned()
        }
        Hint::SeeRefusal => "; --json shows what it said".to_owned(),
        Hint::KeepSection => "; raise the budget, or declare `keep: required` or a ladder for the section".to_owned(),
        Hint::SendTextAsItIs => " with --input-text".to_owned(),
        Hint::NameInput => "; name the input with --file NAME=FILE".to_owned(),
        Hint::AllowMoreTime => "; raise --timeout".to_owned(),
        Hint::AllowLongerAnswer => "; raise --max-tokens, or `budget.output` in the prompt file".to_owned(),
        Hint::ChooseResults => "; choose another --out".to_owned(),
        Hint::DeleteOrChooseResults => "; delete it or choose another --out".to_owned(),
        Hint::MakeBook => "; `proem init` makes one".to_owned(),
        Hint::ImportPrompt { path } => format!("; `proem book import {path}` makes a prompt file of it"),
        Hint::CheckBook => "; `proem book check` lists them".to_owned(),
        Hint::NameRun => "; name a run that `proem runs list` shows".to_owned(),
        Hint::CompareRuns => "; name a run to compare it with, such as `proem runs diff last~1 last`".to_owned(),
        Hint::ScanTask => "; inspect it with `proem scan`".to_owned(),
        Hint::AnswerRun { run } => format!("; run `proem runs resume {run}` in a terminal"),
        Hint::AdoptRecords => {
            "; check them with `proem store status`, then take them over with `proem store adopt`".to_owned()
        }
        Hint::NameRepository => "; run `proem risk` in one, or name its folder with --root".to_owned(),
        Hint::RecordAssessment => "; run `proem risk` first".to_owned(),
        Hint::ReadAssessmentId => "; `proem risk --json` prints the id of one".to_owned(),
        Hint::AssessAnew => "; assess the change again with `proem risk`".to_owned(),
        Hint::DoWithoutModel => ", or leave out --model and --provider to do without a model".to_owned(),
        Hint::SetKey { variable } => format!("; set it with `export {variable}=…`"),
        Hint::SetRole { role } => format!("; set `{role} = \"PROVIDER/MODEL\"` under `[roles]`"),
        Hint::CloseToOthers { path } => format!("; run `chmod go= '{path}'`"),
        Hint::ResetClock => "; set it back with `proem store reset-clock`".to_owned(),
        Hint::CheckPolicy => "; `proem policy check` lists what is wrong".to_owned(),
        Hint::SetLocale => "; run `export LANG=C.UTF-8`".to_owned(),
        Hint::Connect => "; `proem doctor --connect` asks it".to_owned(),
        // A remedy without words here is left to the message.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The enumeration is open to other crates, so that only its source says what all of it is.
    const HINTS: &str = include_str!("../../proem-app/src/message.rs");

    /// A variant's name, at the beginning of its source or of its debugging form.
    fn name(text: &str) -> String {
        text.chars().take_while(char::is_ascii_alphanumeric).collect()
    }

    /// The remedies for an installation.
    fn of_doctor() -> [(Hint, &'static str); 7] {
        [
            (Hint::SetKey { variable: "A_KEY".to_owned() }, "x; set it with `export A_KEY=…`"),
            (Hint::SetRole { role: "small".to_owned() }, "x; set `small = \"PROVIDER/MODEL\"` under `[roles]`"),
            (Hint::CloseToOthers { path: "/a b".to_owned() }, "x; run `chmod go= '/a b'`"),
            (Hint::ResetClock, "x; set it back with `proem store reset-clock`"),
            (Hint::CheckPolicy, "x; `proem policy check` lists what is wrong"),
            (Hint::SetLocale, "x; run `export LANG=C.UTF-8`"),
            (Hint::Connect, "x; `proem doctor --connect` asks it"),
        ]
    }

    fn of_files() -> Vec<(Hint, &'static str)> {
        vec![
            (Hint::TrustFiles, "x; run `proem trust`"),
            (Hint::SeeEveryKey, "x; `proem init --print` prints every key"),
            (Hint::ListFailures, "x; `proem failures list` lists the agents"),
            (Hint::ListCatalogue, "x; `proem catalogue list` shows the names"),
            (Hint::MeasureCounts, "x; `proem cost fit` compares it with recorded calls"),
            (Hint::ChooseFolder, "x, or choose another --root"),
            (Hint::EndEditing { path: "a".to_owned() }, "x; `proem trust revoke a` ends that"),
            (Hint::ReviewTrust, "x; review with `proem trust`"),
            (Hint::CalibrateGuard, "x; create a new one with `proem scan --calibrate`"),
            (Hint::FitFactors, "x; delete it, then create it again with `proem cost fit --apply`"),
            (Hint::CheckCatalogue, "x; `proem catalogue check` lists them"),
            (Hint::SeeLearned { prompt: "a/b".to_owned() }, "x; see `proem adapt a/b`"),
            (Hint::SeeRun { run: "3f2a9c01".to_owned() }, "x; see `proem runs show 3f2a9c01`"),
            (Hint::NameRepository, "x; run `proem risk` in one, or name its folder with --root"),
            (Hint::RecordAssessment, "x; run `proem risk` first"),
            (Hint::ReadAssessmentId, "x; `proem risk --json` prints the id of one"),
            (Hint::SetUpTriage, "x; `proem triage init` writes it"),
        ]
    }

    #[test]
    fn hints_name_flags_and_commands() {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let rows = [
            (Hint::ChooseMode, "x; choose another mode with --mode act or --mode review"),
            (Hint::ChooseDepth, "x; `--context parts` shows their code all the same"),
            (Hint::NameFolder, "x; --root takes the folder that the task is about"),
            (
                Hint::NameModel { or_set: "`small`".to_owned() },
                "x; name one of its models with --model, or set `small`",
            ),
            (
                Hint::NameProvider(texts(&["`a`", "`b`"])),
                "x\n  name any other model as PROVIDER/MODEL, or choose its provider with --provider from `a`, `b`",
            ),
            (Hint::ChooseProvider(texts(&["a", "b"])), "x; choose --provider from a, b"),
            (Hint::Record, "x; leave out --no-record"),
            (
                Hint::ExplainOrFallBack,
                "x; --explain shows what was wrong, and `fallback` in the prompt file gives a value for this case",
            ),
            (Hint::SeeRefusal, "x; --json shows what it said"),
            (Hint::KeepSection, "x; raise the budget, or declare `keep: required` or a ladder for the section"),
            (Hint::SendTextAsItIs, "x with --input-text"),
            (Hint::NameInput, "x; name the input with --file NAME=FILE"),
            (Hint::AllowMoreTime, "x; raise --timeout"),
            (Hint::AllowLongerAnswer, "x; raise --max-tokens, or `budget.output` in the prompt file"),
            (Hint::ChooseResults, "x; choose another --out"),
            (Hint::DeleteOrChooseResults, "x; delete it or choose another --out"),
            (Hint::MakeBook, "x; `proem init` makes one"),
            (
                Hint::ImportPrompt { path: "a.prompty".to_owned() },
                "x; `proem book import a.prompty` makes a prompt file of it",
            ),
            (Hint::CheckBook, "x; `proem book check` lists them"),
            (Hint::NameRun, "x; name a run that `proem runs list` shows"),
            (Hint::CompareRuns, "x; name a run to compare it with, such as `proem runs diff last~1 last`"),
            (Hint::ScanTask, "x; inspect it with `proem scan`"),
            (Hint::AnswerRun { run: "3f2a9c01".to_owned() }, "x; run `proem runs resume 3f2a9c01` in a terminal"),
            (
                Hint::AdoptRecords,
                "x; check them with `proem store status`, then take them over with `proem store adopt`",
            ),
            (Hint::ListRuns { all: false }, "x; `proem runs list` lists the runs"),
            (Hint::ListRuns { all: true }, "x; `proem runs list --any` lists what else is recorded"),
            (Hint::ReadWhole, "x; run `proem find --wait` to see it read"),
            (Hint::ListQueue, "x; `proem queue list` lists them"),
            (Hint::ListEscalations, "x; `proem escalations list` lists them"),
            (Hint::ListSignals, "x; `proem triage signals --since 30d` lists them"),
            (Hint::ListAttempts, "x; `proem runs show` lists the attempts of a run"),
            (Hint::TakeWorktree, "x, or use `--worktree` for what is not committed"),
            (Hint::DeclineRecords, "x; `--no-record` continues without them"),
            (Hint::ExportRest, "x; `proem runs export --otlp` sends the rest"),
            (
                Hint::SendAssembly,
                "x; `proem assemble TASK` makes the prompt, and `proem assemble TASK --send` asks a model with it",
            ),
            (Hint::AssessAnew, "x; assess the change again with `proem risk`"),
            (Hint::DoWithoutModel, "x, or leave out --model and --provider to do without a model"),
        ];
        let rows: Vec<(Hint, &str)> = rows.into_iter().chain(of_doctor()).chain(of_files()).collect();
        let worded: BTreeSet<String> = rows.iter().map(|(hint, _)| name(&format!("{hint:?}"))).collect();
        for (hint, expected) in rows {
            assert_eq!(message_with_remedy(&Message { text: "x".to_owned(), hint: Some(hint) }), expected);
        }
        assert_eq!(message_with_remedy(&"x".into()), "x");

        let (_, all) = HINTS.split_once("pub enum Hint {\n").unwrap();
        let (all, _) = all.split_once("\n}\n").unwrap();
        let is_variant = |line: &&str| line.starts_with(|first: char| first.is_ascii_uppercase());
        let all = all.lines().filter_map(|line| line.strip_prefix("    ")).filter(is_variant).map(name);
        assert_eq!(all.collect::<BTreeSet<_>>(), worded, "every hint has words, and they are pinned here");
    }
}
