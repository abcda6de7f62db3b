//! The checks of `proem book check` beyond the errors of reading a prompt.

use proem_guard::Untrusted;
use proem_text::Label;
use proem_text::diagnostic::DiagnosticSeverity;
use serde::Serialize;
use serde_json::Value as Json;

use super::book::Book;
use super::cases::Cases;
use super::compiled_prompt::{Prompt, missing_schema};
use super::file::Section;
use crate::error::{Error, ErrorKind};
use crate::section::{CacheClass, SectionPriority};
use crate::tokens::TokenCounter;

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Remark {
    /// `agent/name@version`.
    pub prompt: String,
    /// `error` or `warning`.
    #[serde(serialize_with = "severity")]
    #[schemars(with = "String")]
    pub severity: DiagnosticSeverity,
    /// The problem, its place and the remedy.
    pub text: String,
}

fn severity<S: serde::Serializer>(severity: &DiagnosticSeverity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(severity.as_str())
}

/// Names of inputs that change from call to call.
const VOLATILE_NAMES: [&str; 12] =
    ["date", "datetime", "guid", "id", "nonce", "now", "random", "seed", "time", "timestamp", "today", "uuid"];

/// JSON Schema formats of values that change from call to call.
const VOLATILE_FORMATS: [&str; 4] = ["date", "date-time", "time", "uuid"];

/// Checks every version of every prompt, and every experiment.
///
/// # Errors
///
/// Only if the book's own files can't be read; what is wrong with a prompt is a remark.
pub fn check_book(book: &Book, counter: &dyn TokenCounter) -> Result<Vec<Remark>, Error> {
    let mut remarks = Vec::new();
    for version in book.versions()? {
        let name = format!("{}@{}", version.prompt, version.version);
        let mut say = |severity, text: String| remarks.push(Remark { prompt: name.clone(), severity, text });
        let closure = book.closure(&version.prompt, &version.version)?;
        if let Some(text) = book.edited(&version.prompt, &version.version, &closure) {
            say(DiagnosticSeverity::Error, text);
        }
        for (key, name) in &closure.missing_schemas {
            say(DiagnosticSeverity::Error, missing_schema(key, name));
        }
        match book.as_it_is(&version.prompt, &version.version) {
            Err(error) => error.problems().iter().for_each(|problem| say(DiagnosticSeverity::Error, bare(problem))),
            Ok(prompt) => {
                if !prompt.file.is_plain && prompt.file.strict.version != version.version {
                    let text = format!(
                        "the file is named {}, but its proem.version is {}",
                        version.version, prompt.file.strict.version
                    );
                    say(DiagnosticSeverity::Error, text);
                }
                prompt.file.remarks.iter().for_each(|remark| say(DiagnosticSeverity::Warning, remark.clone()));
                check_answer_contract(&prompt, &mut say);
                check_cases(book, &version.prompt, &prompt, &mut say);
                volatile(&prompt, &mut say);
                check_budget(&prompt, counter, &mut say);
                system(&prompt, &mut say);
            }
        }
    }
    for prompt in book.prompts() {
        let current = book.current(&prompt)?;
        if book.closure(&prompt, &current).is_err() {
            let text = format!("book.toml names {current} as current, which does not exist");
            remarks.push(Remark { prompt: prompt.clone(), severity: DiagnosticSeverity::Error, text });
        }
    }
    for name in book.experiments() {
        let Err(error) = book.experiment(&name) else { continue };
        let remark = |text: &String| Remark {
            prompt: format!("experiments.{name}"),
            severity: DiagnosticSeverity::Error,
            text: bare(text),
        };
        remarks.extend(error.problems().iter().map(remark));
    }
    remarks.sort_by(|a, b| a.prompt.cmp(&b.prompt).then(a.severity.cmp(&b.severity)));
    Ok(remarks)
}

/// A problem without the word that a remark says by itself: how bad it is.
fn bare(problem: &str) -> String {
    problem.strip_prefix("error: ").unwrap_or(problem).trim_end().to_owned()
}

/// The case file, if the prompt names one.
fn check_cases(book: &Book, name: &str, prompt: &Prompt, say: &mut impl FnMut(DiagnosticSeverity, String)) {
    let Some(file) = &prompt.file.strict.cases else { return };
    match book.file(&format!("{name}/{file}")) {
        None => {
            say(
                DiagnosticSeverity::Error,
                format!("proem.cases names `{file}`, which is not in the folder of the prompt file"),
            );
        }
        Some((text, _)) => {
            if let Err(error) = Cases::for_inputs(file, text.as_str(), &prompt.file.input_schema()) {
                error.problems().iter().for_each(|problem| say(DiagnosticSeverity::Error, bare(problem)));
            }
        }
    }
}

/// The contract that the answer owes, and whether the fallback meets it.
fn check_answer_contract(prompt: &Prompt, say: &mut impl FnMut(DiagnosticSeverity, String)) {
    let fallback = &prompt.file.strict.fallback;
    let answer = match prompt.answer() {
        // The closure has already reported a missing file.
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => {
            return error.problems().iter().for_each(|problem| say(DiagnosticSeverity::Error, problem.clone()));
        }
        Ok(answer) => answer,
    };
    if prompt.prints_output_format() && answer.contract.value().is_none() {
        let text =
            "`{{output_format}}` prints nothing, because the answer has no schema; add `output.schema`, or take it out";
        say(DiagnosticSeverity::Error, text.to_owned());
    }
    if !prompt.file.strict.tools.is_empty() && !answer.filled.is_empty() {
        let text = format!(
            "definitions of tools state no maximum lengths, so defaults were used for {}; to set them, add `maxLength` and \
             `maxItems`",
            answer.filled.join(", ")
        );
        say(DiagnosticSeverity::Warning, text);
    }
    let Some(contract) = answer.contract.fallback() else {
        if fallback.as_ref().is_some_and(|fallback| !fallback.is_string()) {
            let text = "proem.fallback is not a string, and no schema declares another type of answer; add \
                        `output.schema`";
            say(DiagnosticSeverity::Error, text.into());
        }
        return;
    };
    if prompt.file.strict.tools.is_empty() && !answer.filled.is_empty() {
        let text = format!(
            "output.schema can't state maximum lengths, so defaults were used for {}; to set them, put the schema into \
             a file and name the file in proem.output_schema",
            answer.filled.join(", ")
        );
        say(DiagnosticSeverity::Warning, text);
    }
    if let Some(fallback) = fallback {
        let fallback = Untrusted::new(fallback.clone(), Label::trusted());
        for problem in contract.answer_problems(&fallback) {
            say(
                DiagnosticSeverity::Error,
                format!("proem.fallback does not meet the contract: {}", problem.in_words()),
            );
        }
    }
}

/// Dates, ids and random values in sections whose bytes should stay the same.
fn volatile(prompt: &Prompt, say: &mut impl FnMut(DiagnosticSeverity, String)) {
    let schema = prompt.file.input_schema();
    for section in prompt.file.sections.iter().filter(|section| section.spec.cache != CacheClass::Never) {
        let name = &section.spec.name;
        for input in &section.inputs {
            let format = schema.get("properties").and_then(|p| p.get(input)).and_then(|p| p.get("format"));
            let by_format = format.and_then(Json::as_str).is_some_and(|format| VOLATILE_FORMATS.contains(&format));
            let by_name = proem_text::words::search_words(input).any(|word| VOLATILE_NAMES.contains(&word.as_str()));
            if by_format || by_name {
                say(
                    DiagnosticSeverity::Error,
                    format!(
                        "section `{name}` ({}) prints `{input}`, which changes from call to call and would cause cache \
                         misses; move it to a section with `cache: never`",
                        section.spec.cache.as_str()
                    ),
                );
            }
        }
        if let Some(found) = stamp(&prompt.section_literals(&section.template)) {
            say(
                DiagnosticSeverity::Warning,
                format!(
                    "section `{name}` ({}) contains the literal `{found}`; if this date or id changes later, the cache \
                     misses",
                    section.spec.cache.as_str()
                ),
            );
        }
    }
}

/// The first ISO date or UUID in a text.
fn stamp(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').find(|word| {
        let groups: Vec<&str> = word.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let digits = groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_digit()));
        let hex = groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()));
        (lengths == [4, 2, 2] && digits) || (lengths == [8, 4, 4, 4, 12] && hex)
    })
}

/// Required sections whose own text is larger than the budget.
fn check_budget(prompt: &Prompt, counter: &dyn TokenCounter, say: &mut impl FnMut(DiagnosticSeverity, String)) {
    let Some(limit) = prompt.file.strict.input_budget else { return };
    let required =
        |section: &&Section| section.spec.keep == SectionPriority::Required && section.spec.ladders.is_empty();
    let sizes: Vec<(String, usize)> = prompt
        .file
        .sections
        .iter()
        .filter(required)
        .map(|section| (section.spec.name.clone(), literal_tokens(prompt, section, counter)))
        .collect();
    let total = sizes.iter().fold(0usize, |sum, (_, tokens)| sum.saturating_add(*tokens));
    if total > limit {
        let list: Vec<String> = sizes.iter().map(|(name, tokens)| format!("`{name}` {tokens}")).collect();
        say(
            DiagnosticSeverity::Error,
            format!("required sections have at least {total} tokens ({}) and the budget is {limit}", list.join(", ")),
        );
    }
}

/// The tokens of what a section always prints: text outside its blocks.
fn literal_tokens(prompt: &Prompt, section: &Section, counter: &dyn TokenCounter) -> usize {
    counter.count(&prompt.unconditional(&section.template))
}

/// A system prompt should say who a model is, what it does or what it must not do. One that says any of it is sound: which
/// of them a prompt needs is its author's to decide.
fn system(prompt: &Prompt, say: &mut impl FnMut(DiagnosticSeverity, String)) {
    let text = prompt.system_literals().to_lowercase();
    let wanted = [
        &["you are", "your role", "you act", "you work", "you investigate", "the assistant"][..],
        &["responsib", "your task", "you must", "must ", "duties", "your job"],
        &["never", "must not", "do not", "don't", "not allowed", "forbidden"],
    ];
    if !text.trim().is_empty() && !wanted.concat().iter().any(|word| text.contains(word)) {
        let text = "the system prompt states no role, no responsibilities and no prohibitions";
        say(DiagnosticSeverity::Warning, text.to_owned());
    }
}
