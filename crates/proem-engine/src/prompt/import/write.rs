//! Writes an imported prompt as a prompt file with its cases, and reads it back to see that nothing changed.

use std::collections::BTreeMap;

use proem_text::json::quote_json;

use super::{ImportedExpectation, ImportedJudgement, ImportedPrompt, ImportedTurn, LeftOut, TextPiece};
use crate::error::{Error, ErrorKind};
use crate::message::Role;
use crate::prompt::cases::Cases;
use crate::prompt::file::{PromptFile, Section};
use crate::prompt::template::Statement;

/// The files of one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPrompt {
    /// `agent/name`.
    pub prompt: String,
    /// The texts by path relative to the book.
    pub files: BTreeMap<String, String>,
    /// Files that several imported prompts share: the judge that holds answers against rubrics.
    pub shared: BTreeMap<String, String>,
    /// The parts that were not carried over, by place.
    pub left_out: Vec<LeftOut>,
}

/// The prompt that judges answers by a rubric.
const JUDGE: &str = "rubric-judge";

/// Its text.
const JUDGE_PROMPT: &str = include_str!("../../../data/rubric-judge.prompt");

/// The version of a prompt that was just imported.
const VERSION: &str = "1.0.0";

/// The trust of a section that prints an input.
const UNTRUSTED: &str = "untrusted";

/// A section of the file that is written.
#[derive(Debug)]
struct Part<'p> {
    name: String,
    role: Role,
    pieces: Vec<&'p TextPiece>,
    trust: &'static str,
}

/// Writes a prompt into the folder `agent` of a book.
///
/// The author's words are in sections of their own, each input in an untrusted one. A system message is the operator's
/// up to the first line that has an input. The rest of it begins the user's message, since no text from outside is
/// among the operator's words. [`WrittenPrompt::left_out`] says so.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] if the prompt can't be written so that reading it gives the same texts.
pub fn write_prompt(prompt: &ImportedPrompt, agent: &str) -> Result<WrittenPrompt, Error> {
    let mut left_out = prompt.left_out.clone();
    let turns = arrange_turns(prompt, &mut left_out)?;
    let parts = parts_of(&turns);
    let text = front_matter(prompt, &parts) + &prompt_body(prompt, &parts);
    let path = format!("{agent}/{}/{VERSION}.prompt", prompt.name);
    let file = PromptFile::parse(&path, &text, &BTreeMap::new()).map_err(|error| {
        let first = prompt.turns.first().map_or(1, |turn| turn.line);
        let indented = |problem: &String| problem.trim_start_matches("error: ").replace('\n', "\n  ");
        let why: Vec<String> = error.problems().iter().map(indented).collect();
        let text = format!("{}:{first}: the prompt file made of it is refused: {}", prompt.source, why.join("\n  "));
        Error::new(ErrorKind::InvalidFile, text)
    })?;
    compare_read_back(prompt, &parts, &file.sections)?;
    let mut files = BTreeMap::from([(path, text)]);
    if !prompt.cases.is_empty() {
        let cases = case_file(prompt, agent);
        Cases::parse("cases.yaml", &cases)?;
        files.insert(format!("{agent}/{}/cases.yaml", prompt.name), cases);
    }
    let mut shared = BTreeMap::new();
    if prompt.cases.iter().any(|case| case.expected.judgement.is_some()) {
        shared.insert(format!("{agent}/{JUDGE}/{VERSION}.prompt"), JUDGE_PROMPT.to_owned());
    }
    left_out.sort();
    left_out.dedup();
    Ok(WrittenPrompt { prompt: format!("{agent}/{}", prompt.name), files, shared, left_out })
}

fn import_refusal(prompt: &ImportedPrompt, line: usize, text: &str) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("{}:{line}: {text}", prompt.source))
}

/// The turns as a request can have them: the operator's first, then the user's and the model's in turn.
fn arrange_turns(prompt: &ImportedPrompt, left_out: &mut Vec<LeftOut>) -> Result<Vec<ImportedTurn>, Error> {
    let mut turns: Vec<ImportedTurn> = Vec::new();
    let mut moved: Vec<TextPiece> = Vec::new();
    let note = |line: usize, text: &str| LeftOut { file: prompt.source.clone(), line, text: text.to_owned() };
    for turn in &prompt.turns {
        if turn.role == Role::System {
            if turns.iter().any(|turn| turn.role != Role::System) {
                let text = "a system message behind the user's is not imported; move it to the start";
                return Err(import_refusal(prompt, turn.line, text));
            }
            let (kept, rest) = cut_at_input(&turn.pieces);
            if !rest.is_empty() || !moved.is_empty() {
                let text = "the system message prints an input, which is text from outside: from that line on its text \
                            begins the user's message";
                left_out.push(note(turn.line, text));
            }
            if moved.is_empty() && !kept.is_empty() {
                turns.push(ImportedTurn { pieces: kept, ..turn.clone() });
            } else {
                moved.extend(kept);
            }
            moved.extend(rest);
            continue;
        }
        if !moved.is_empty() {
            if turn.role != Role::User {
                return Err(import_refusal(prompt, turn.line, "an assistant's message comes before the user's"));
            }
            let break_between =
                moved.last().is_none_or(|piece| !matches!(piece, TextPiece::Text(text) if text.ends_with('\n')));
            if break_between {
                moved.push(TextPiece::Text("\n".to_owned()));
            }
            moved.extend(turn.pieces.iter().cloned());
            turns.push(ImportedTurn { pieces: core::mem::take(&mut moved), ..turn.clone() });
            continue;
        }
        if let Some(last) = turns.last().filter(|last| last.role == turn.role) {
            left_out.push(note(turn.line, &format!("two {} messages in a row are sent as one", last.role.as_str())));
        }
        turns.push(turn.clone());
    }
    turns.retain(|turn| !turn.pieces.is_empty());
    if let Some(last) = turns.last().filter(|last| last.role == Role::Model) {
        let text = "the last message is the assistant's: some models go on from it, others refuse it";
        left_out.push(note(last.line, text));
    }
    if turns.iter().filter(|turn| turn.role == Role::System).count() > 1 {
        left_out.push(note(1, "several system messages are sent as one"));
    }
    Ok(turns)
}

/// The pieces before the first line with an input, and those from that line on.
fn cut_at_input(pieces: &[TextPiece]) -> (Vec<TextPiece>, Vec<TextPiece>) {
    let Some(at) = pieces.iter().position(|piece| !matches!(piece, TextPiece::Text(_))) else {
        return (pieces.to_vec(), Vec::new());
    };
    let (before, rest) = pieces.split_at_checked(at).unwrap_or((pieces, &[]));
    let (mut before, mut rest) = (before.to_vec(), rest.to_vec());
    if let Some(TextPiece::Text(text)) = before.pop() {
        let cut = text.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let (kept, line) = text.split_at_checked(cut).unwrap_or((&text, ""));
        if !line.is_empty() {
            rest.insert(0, TextPiece::Text(line.to_owned()));
        }
        if !kept.is_empty() {
            before.push(TextPiece::Text(kept.to_owned()));
        }
    }
    (before, rest)
}

/// Cuts turns into sections: the author's words and inputs in turn. White space beside an input goes with it.
fn parts_of(turns: &[ImportedTurn]) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for turn in turns {
        let mut own: Vec<Part<'_>> = Vec::new();
        for piece in &turn.pieces {
            let trust = match (piece, turn.role) {
                (TextPiece::Input(_) | TextPiece::Template(_), _) => UNTRUSTED,
                (TextPiece::Text(_), Role::System) => "constitution",
                (TextPiece::Text(_), _) => "trusted",
            };
            match own.last_mut() {
                Some(last) if last.trust == trust || is_blank_piece(piece) => last.pieces.push(piece),
                Some(last) if last.pieces.iter().all(|piece| is_blank_piece(piece)) => {
                    last.trust = trust;
                    last.pieces.push(piece);
                }
                _ => own.push(Part { name: String::new(), role: turn.role, pieces: vec![piece], trust }),
            }
        }
        parts.append(&mut own);
    }
    name_sections(&mut parts);
    parts
}

fn is_blank_piece(piece: &TextPiece) -> bool {
    matches!(piece, TextPiece::Text(text) if text.trim().is_empty())
}

/// Names sections by what they hold. A second one of a name gets a number.
fn name_sections(parts: &mut [Part<'_>]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for part in parts {
        let input = part.pieces.iter().find_map(|piece| match piece {
            TextPiece::Input(path) => path.first().cloned(),
            TextPiece::Template(_) => Some("content".to_owned()),
            TextPiece::Text(_) => None,
        });
        let base = input.unwrap_or_else(|| match part.role {
            Role::System => "system".to_owned(),
            Role::User => "instructions".to_owned(),
            Role::Model => "example".to_owned(),
        });
        let base: String = base.chars().take(48).collect();
        let base = if base == "output" { "output_".to_owned() } else { base };
        let count = seen.entry(base.clone()).or_insert(0);
        *count = count.saturating_add(1);
        part.name = if *count == 1 { base } else { format!("{base}--{count}") };
    }
}

fn front_matter(prompt: &ImportedPrompt, parts: &[Part<'_>]) -> String {
    let mut out = String::from("---\n");
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    if let Some(model) = &prompt.settings.model {
        line(format!("model: {}", quote_json(model)));
    }
    if prompt.settings.config.iter().len() > 0 {
        let settings = prompt.settings.config.iter().map(|(key, value)| format!("{key}: {}", value.compact()));
        line(format!("config: {{ {} }}", settings.collect::<Vec<_>>().join(", ")));
    }
    if prompt.inputs.iter().len() > 0 {
        line("input:".to_owned());
        line("  schema:".to_owned());
        line("    type: object".to_owned());
        line("    additionalProperties: false".to_owned());
        let required = prompt.inputs.iter().filter(|(_, input)| !input.is_optional);
        let required: Vec<String> = required.map(|(name, _)| quote_json(name)).collect();
        line(format!("    required: [{}]", required.join(", ")));
        line("    properties:".to_owned());
        for (name, input) in prompt.inputs.iter() {
            line(format!("      {}: {}", quote_json(name), input.schema.compact()));
        }
        let defaults = prompt.inputs.iter().filter_map(|(name, input)| Some((name, input.default.as_ref()?)));
        for (index, (name, value)) in defaults.enumerate() {
            if index == 0 {
                line("  default:".to_owned());
            }
            line(format!("    {}: {}", quote_json(name), value.compact()));
        }
    }
    if let Some(answer) = &prompt.answer {
        line(format!("output:\n  schema: {}", answer.compact()));
    }
    line("proem:".to_owned());
    line(format!("  version: {VERSION}"));
    line(format!("  changes: {}", quote_json(&format!("imported from {}", prompt.source))));
    if let Some(purpose) = &prompt.purpose {
        line(format!("  purpose: {}", quote_json(purpose)));
    }
    line("  layout: exact".to_owned());
    if let Some(tokens) = prompt.settings.output_tokens.filter(|tokens| *tokens > 0) {
        line(format!("  budget: {{ output: {tokens} }}"));
    }
    if !prompt.cases.is_empty() {
        line("  cases: cases.yaml".to_owned());
    }
    line("  sections:".to_owned());
    for part in parts {
        let keep = if part.trust == "constitution" { "" } else { ", keep: required" };
        line(format!("    - {{ name: {}, trust: {}{keep} }}", quote_json(&part.name), part.trust));
    }
    line("---".to_owned());
    out
}

/// The body: one line break on each side of a marker is the marker's.
fn prompt_body(prompt: &ImportedPrompt, parts: &[Part<'_>]) -> String {
    let mut out = String::new();
    let mut role = None;
    for part in parts {
        if role != Some(part.role) {
            out.push_str(&format!("{{{{role \"{}\"}}}}", part.role.as_str()));
            role = Some(part.role);
        }
        out.push_str(&format!("{{{{section {}}}}}\n", quote_json(&part.name)));
        for piece in &part.pieces {
            match piece {
                TextPiece::Text(text) => out.push_str(&escape_words(text)),
                TextPiece::Template(text) => out.push_str(text),
                TextPiece::Input(path) => {
                    let name = path.join(".");
                    let is_optional =
                        path.first().and_then(|name| prompt.inputs.get(name)).is_some_and(|i| i.is_optional);
                    if is_optional {
                        out.push_str(&format!("{{{{#if {name}}}}}{{{{{name}}}}}{{{{/if}}}}"));
                    } else {
                        out.push_str(&format!("{{{{{name}}}}}"));
                    }
                }
            }
        }
        out.push('\n');
    }
    out
}

/// Words that a template prints as they are: what would be a tag is in a raw block.
fn escape_words(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let first = ["{{", "{%"].iter().filter_map(|sign| line.find(sign)).min();
        let Some(first) = first else {
            out.push_str(line);
            continue;
        };
        // From the braces, with the backslashes before them, to the last brace of the line.
        let (before, tags) = line.split_at_checked(first).unwrap_or((line, ""));
        let plain = before.trim_end_matches('\\');
        let tags = format!("{}{tags}", before.get(plain.len()..).unwrap_or_default());
        let end = tags.rfind('}').map_or(tags.trim_end_matches(['\n', '\r']).len(), |at| at.saturating_add(1));
        let (raw, ending) = tags.split_at_checked(end).unwrap_or((&tags, ""));
        out.push_str(&format!("{plain}{{{{{{{{raw}}}}}}}}{raw}{{{{{{{{/raw}}}}}}}}{ending}"));
    }
    out
}

/// Holds what was read back against what was to be written.
fn compare_read_back(prompt: &ImportedPrompt, parts: &[Part<'_>], sections: &[Section]) -> Result<(), Error> {
    let is_same = |part: &Part<'_>, section: &Section| {
        let is_template = part.pieces.iter().any(|piece| matches!(piece, TextPiece::Template(_)));
        let wanted: String = part
            .pieces
            .iter()
            .map(|piece| match piece {
                TextPiece::Text(text) | TextPiece::Template(text) => text.clone(),
                TextPiece::Input(path) => format!("\0{}\0", path.join(".")),
            })
            .collect();
        section.spec.name == part.name
            && section.role == part.role
            && (is_template || printed_section(section) == wanted)
    };
    let same =
        parts.len() == sections.len() && parts.iter().zip(sections).all(|(part, section)| is_same(part, section));
    if same {
        return Ok(());
    }
    let text = "its words hold tags that a prompt file can't print as they are; take `{{{{` and `}}}}` out of them";
    Err(import_refusal(prompt, prompt.turns.first().map_or(1, |turn| turn.line), text))
}

/// The output of a section, with names between NULs in place of inputs.
fn printed_section(section: &Section) -> String {
    let mut out = String::new();
    for node in &section.template.nodes {
        match &node.element {
            Statement::Text(text) => out.push_str(&text.shown),
            Statement::Print(call, _) => out.push_str(&format!("\0{}\0", call.path.names.join("."))),
            Statement::Block(block) if block.is_raw => {
                for node in block.body.iter().flat_map(|body| &body.nodes) {
                    if let Statement::Text(text) = &node.element {
                        out.push_str(&text.shown);
                    }
                }
            }
            Statement::Block(block) => {
                let name = block.call.arguments.first().map(|argument| match argument {
                    crate::prompt::template::Expression::Path(path) => path.names.join("."),
                    _ => String::new(),
                });
                out.push_str(&format!("\0{}\0", name.unwrap_or_default()));
            }
            _ => {}
        }
    }
    out
}

fn case_file(prompt: &ImportedPrompt, agent: &str) -> String {
    let mut out = format!("# Imported from {}.\ncases:\n", prompt.source.replace(['\n', '\r'], " "));
    for case in &prompt.cases {
        out.push_str(&format!("  - name: {}\n    inputs:\n", quote_json(&case.name)));
        if case.inputs.iter().len() == 0 {
            out.truncate(out.trim_end_matches('\n').len());
            out.push_str(" {}\n");
        }
        for (name, value) in case.inputs.iter() {
            out.push_str(&format!("      {}: {}\n", quote_json(name), value.compact()));
        }
        out.push_str(&live(&case.expected, agent));
    }
    out
}

/// A case's expectation of an answer, as YAML.
fn live(expected: &ImportedExpectation, agent: &str) -> String {
    let ImportedExpectation { answer, checks, judgement } = expected;
    if let (Some(answer), [], None) = (answer, checks.as_slice(), judgement) {
        return format!("    live: {{ answer: {} }}\n", answer.compact());
    }
    let mut out = String::new();
    if let Some(answer) = answer {
        out.push_str(&format!("      answer: {}\n", answer.compact()));
    }
    if !checks.is_empty() {
        out.push_str("      checks:\n");
        checks.iter().for_each(|check| out.push_str(&format!("        - {}\n", check.compact())));
    }
    if let Some(ImportedJudgement { rubric, verdict }) = judgement {
        out.push_str(&format!(
            "      judge: {{ prompt: {}, verdict: {verdict}, inputs: {{ rubric: {} }} }}\n",
            quote_json(&format!("{agent}/{JUDGE}")),
            quote_json(rubric)
        ));
    }
    if out.is_empty() { out } else { format!("    live:\n{out}") }
}
