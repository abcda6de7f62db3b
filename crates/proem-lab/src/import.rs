//! Imports public prompts, and compares the requests with what their own tools would send.
//!
//! The list `evals/import/prompts.tsv` names the prompts. A folder holds their files. [`original`] computes a tool's
//! request apart from the readers that are measured: by replacing placeholders in the file's own text.

mod original;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::message::Role;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::import::{
    ImportKind, ImportSource, UnknownChecks, WrittenPrompt, files_beside_source, read_prompts, recognise_source,
    write_prompt,
};
use proem_engine::prompt::origin::Origin;
use proem_engine::section::Trust;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};
use serde_json::Value as Json;

use self::original::original_messages;

/// Imports the prompts of a list, and writes the table.
#[derive(Debug, Args)]
pub(crate) struct EvalImport {
    /// The folder that has the prompts as `OWNER+NAME/PATH`.
    #[arg(long, value_name = "DIR")]
    prompts: PathBuf,
    /// The list: repository, commit and path, apart by tabs.
    #[arg(long, value_name = "FILE", default_value = "evals/import/prompts.tsv")]
    list: PathBuf,
    /// The table that is written.
    #[arg(long, value_name = "FILE", default_value = "evals/import/results.md")]
    out: PathBuf,
}

/// A message: whose it is, and its text.
pub(crate) type ChatMessage = (Role, String);

/// The outcome for one prompt.
struct Outcome {
    kind: &'static str,
    state: &'static str,
    equal: bool,
    why: String,
}

pub(crate) fn run_eval_import(args: &EvalImport) -> Result<String, String> {
    let list = fs::read_to_string(&args.list).map_err(|error| format!("{}: {error}", args.list.display()))?;
    let mut rows = String::new();
    let (mut total, mut equal) = (0_usize, 0_usize);
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [repository, commit, path] = fields.as_slice() else {
            return Err(format!("`{line}` is not a repository, a commit and a path, apart by tabs"));
        };
        let root = args.prompts.join(repository.replace('/', "+"));
        let outcome = import_one(&root, path)?;
        total += 1;
        equal += usize::from(outcome.equal);
        let address = format!("https://github.com/{repository}/blob/{commit}/{path}");
        let short: String = commit.chars().take(8).collect();
        rows.push_str(&format!(
            "| {} | [{repository}@{short} `{path}`]({}) | {} | {} | {} |\n",
            outcome.kind,
            address.replace(' ', "%20"),
            outcome.state,
            if outcome.equal { "yes" } else { "no" },
            outcome.why.replace('|', "\\|")
        ));
    }
    let summary = format!("{equal} of {total} requests equal the original's without a hand edit.");
    let table = format!(
        "# Public prompts, imported\n\n`cargo lab eval import --prompts DIR` writes this table; [README.md](README.md) says what is compared.\n\n\
         {summary}\n\n| kind | prompt | state | equal | why not, or what differs |\n|---|---|---|---|---|\n{rows}"
    );
    fs::write(&args.out, table).map_err(|error| format!("{}: {error}", args.out.display()))?;
    Ok(format!("{summary}\n"))
}

fn import_one(root: &Path, path: &str) -> Result<Outcome, String> {
    let whole = root.join(path);
    let text = fs::read_to_string(&whole).map_err(|error| format!("{}: {error}", whole.display()))?;
    let refused = |kind: Option<ImportKind>, error: proem_engine::Error| Outcome {
        kind: kind.map_or("none", ImportKind::as_str),
        state: "impossible",
        equal: false,
        why: first_filled_line(&error.to_string()),
    };
    let kind = match recognise_source(path, &text) {
        Ok(kind) => kind,
        Err(error) => return Ok(refused(None, error)),
    };
    let folder = whole.parent().unwrap_or(root);
    let mut beside = BTreeMap::new();
    for wanted in files_beside_source(kind, path, &text).unwrap_or_default() {
        if let Ok(text) = fs::read_to_string(folder.join(&wanted)) {
            beside.insert(wanted, text);
        }
    }
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let import = |unknown_checks| -> Result<Vec<WrittenPrompt>, proem_engine::Error> {
        let source = ImportSource { path, folder, text: &text, beside: &beside, unknown_checks };
        read_prompts(kind, &source)?.iter().map(|prompt| write_prompt(prompt, "imported")).collect()
    };
    let (state, written) = match (import(UnknownChecks::Refused), import(UnknownChecks::LeftOut)) {
        (Ok(written), _) => ("imported", written),
        (Err(_), Ok(written)) => ("imported without code checks", written),
        (Err(error), Err(_)) => return Ok(refused(Some(kind), error)),
    };
    let mut differences = Vec::new();
    let mut values = BTreeMap::new();
    let mut found = Vec::new();
    for prompt in &written {
        match request_messages(prompt, &mut values) {
            Ok(messages) => found.push(messages),
            Err(why) => differences.push(why),
        }
    }
    let expected = original_messages(kind, path, &text, &beside, &values);
    for (index, expected) in expected.iter().enumerate() {
        differences.extend(
            found.get(index).map_or(Some("it is missing".to_owned()), |found| conversation_difference(expected, found)),
        );
    }
    let moved = written.iter().flat_map(|prompt| &prompt.left_out).find(|left| left.text.contains("begins the user"));
    let equal = differences.is_empty() && expected.len() == found.len();
    let why = match (equal, moved, differences.first()) {
        (true, ..) => String::new(),
        (false, Some(_), _) => "the system message prints an input, so its rest begins the user's message".to_owned(),
        (false, None, first) => first.cloned().unwrap_or_else(|| "another number of prompts".to_owned()),
    };
    Ok(Outcome { kind: kind.as_str(), state, equal, why })
}

fn first_filled_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let place = lines.next().unwrap_or_default();
    let line = place.rsplit(':').nth(1).filter(|line| line.bytes().all(|b| b.is_ascii_digit()));
    line.map_or_else(|| first.to_owned(), |line| format!("line {line}: {first}"))
}

/// How two conversations differ, in words. `None` if they are the same bytes.
fn conversation_difference(expected: &[ChatMessage], found: &[ChatMessage]) -> Option<String> {
    if expected == found {
        return None;
    }
    if expected.len() != found.len() {
        return Some(format!("{} messages instead of {}", found.len(), expected.len()));
    }
    let (index, (wanted, had)) = expected.iter().zip(found).enumerate().find(|(_, (wanted, had))| wanted != had)?;
    if wanted.0 != had.0 {
        return Some(format!(
            "message {} is the {}'s instead of the {}'s",
            index + 1,
            had.0.as_str(),
            wanted.0.as_str()
        ));
    }
    let at = wanted.1.bytes().zip(had.1.bytes()).take_while(|(a, b)| a == b).count();
    Some(format!("message {} differs from byte {at} on", index + 1))
}

/// The messages of a written prompt's request without the delimiters around inputs. `values` gets the inputs' values.
fn request_messages(written: &WrittenPrompt, values: &mut BTreeMap<String, Json>) -> Result<Vec<ChatMessage>, String> {
    let files = written.files.iter().map(|(path, text)| (path.clone(), PartialText::Template(text.clone()))).collect();
    let book = Book::new(vec![BookLayer { origin: Origin::User, files }]).map_err(|error| error.to_string())?;
    let prompt = book.prompt(&written.prompt, None).map_err(|error| error.to_string())?;
    let own = sample_inputs(&prompt);
    values.extend(own.clone());
    let outside = |value: &Json| {
        let value = Untrusted::new(value.clone(), Label::from_source(Source::named("sample")));
        LabelTree::from_outside(&value).map_err(|error| error.to_string())
    };
    let inputs = own.iter().map(|(name, value)| Ok((name.clone(), outside(value)?))).collect::<Result<_, String>>()?;
    let key = InstallationKey::new([0; 32]);
    let options = AssemblyOptions::new(&key);
    let (assembly, _) = assemble_request(&prompt, &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options)
        .map_err(|e| e.to_string())?;
    let mut messages: Vec<ChatMessage> = Vec::new();
    for section in &assembly.sections {
        let text = match section.trust {
            Trust::Untrusted => without_delimiters(&section.text).ok_or("a section has no delimiters")?,
            _ => section.text.as_str(),
        };
        match messages.last_mut() {
            Some((role, whole)) if *role == section.role => whole.push_str(text),
            _ => messages.push((section.role, text.to_owned())),
        }
    }
    Ok(messages)
}

/// A contained text without its first and its last line.
fn without_delimiters(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\n')?;
    Some(rest.strip_suffix('\n')?.rsplit_once('\n')?.0)
}

/// A value for each input, by its type.
fn sample_inputs(prompt: &Prompt) -> BTreeMap<String, Json> {
    let schema = prompt.file.input_schema();
    let properties = schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
    properties.iter().map(|(name, schema)| (name.clone(), sample(name, schema))).collect()
}

fn sample(name: &str, schema: &Json) -> Json {
    if let Some(first) = schema.get("enum").and_then(Json::as_array).and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.first().and_then(Json::as_str).unwrap_or_default(),
        Some(kind) => kind.as_str().unwrap_or_default(),
        None => "string",
    };
    match kind {
        "number" | "integer" => Json::from(7),
        "boolean" => Json::from(true),
        "array" => {
            let item = schema.get("items").cloned().unwrap_or_default();
            Json::Array(vec![sample(name, &item), sample(&format!("second {name}"), &item)])
        }
        "object" => {
            let fields = schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
            fields
                .iter()
                .map(|(name, schema)| (name.clone(), sample(name, schema)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        _ => Json::from(format!("the value of {name}")),
    }
}
