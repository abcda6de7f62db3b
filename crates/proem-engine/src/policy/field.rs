//! The role of an action's field in a policy's file.

use std::collections::BTreeSet;

use proem_guard::check::{CaseSensitivity, FieldRole, Figures, FreeText};
use proem_text::Audience;

use super::{action::MAX_BODY, template::TextTemplate, terms::FieldTerms};
use crate::toml_reader::{PlacedValue, TomlReader};

/// The most bytes of a value that names something, where the file doesn't say it.
const NAMED: u32 = 2_048;

const KEYS: [&str; 9] =
    ["role", "audience", "figures", "required", "list", "max_bytes", "one_of", "templates", "attachment"];
const ROLES: [&str; 9] = ["recipient", "host", "url", "amount", "id", "folded-id", "number", "text", "plain"];
const AUDIENCES: [&str; 4] = ["public", "external", "internal", "restricted"];

/// Whether a value of the role names something that is compared.
pub(super) const fn names_something(role: FieldRole) -> bool {
    !matches!(role, FieldRole::FreeText(_) | FieldRole::Plain)
}

/// A field's table.
pub(super) fn read_field_terms(reader: &mut TomlReader, value: PlacedValue<'_>) -> Option<FieldTerms> {
    let table = reader.table(value)?;
    reader.only(table, &KEYS);
    let Some(named) = table.get("role") else {
        reader.problem(format!("no `role`; write one of `{}`", ROLES.join("`, `")), value.span());
        return None;
    };
    let audience = table.get("audience").and_then(|value| reader.word(value, &AUDIENCES, Audience::parse));
    let figures = table.get("figures").and_then(|value| {
        reader.word(value, &["checked", "ignored"], |word| match word {
            "checked" => Some(Figures::Checked),
            "ignored" => Some(Figures::Ignored),
            _ => None,
        })
    });
    // Without a word about them, a text's readers are the widest circle.
    let text =
        FreeText { audience: audience.unwrap_or(Audience::Public), figures: figures.unwrap_or(Figures::Checked) };
    let role = reader.word(named, &ROLES, |word| role_of_word(word, text));
    let mut flag = |key| table.get(key).and_then(|value| reader.switch(value)).unwrap_or_default();
    let (is_required, is_list) = (flag("required"), flag("list"));
    let most = u32::try_from(MAX_BODY).unwrap_or(u32::MAX);
    let max_bytes = table.get("max_bytes").and_then(|value| reader.number(value, most));
    let one_of: BTreeSet<String> = table
        .get("one_of")
        .map_or_else(BTreeSet::new, |value| reader.texts(value).into_iter().map(|(word, _)| word.to_owned()).collect());
    let mut templates = BTreeSet::new();
    for (text, place) in table.get("templates").map(|value| reader.texts(value)).unwrap_or_default() {
        match TextTemplate::parse(text) {
            Ok(template) => drop(templates.insert(template)),
            Err(problem) => reader.problem(problem.to_string(), place.span()),
        }
    }
    let role = role?;
    let is_text = matches!(role, FieldRole::FreeText(_));
    for key in ["audience", "figures", "templates", "attachment"] {
        if let Some(value) = table.get(key).filter(|_| !is_text) {
            reader.problem(format!("`{key}` is for fields of the role `text`; leave it out"), value.span());
        }
    }
    if let Some(value) = table.get("one_of").filter(|_| role != FieldRole::Plain) {
        reader.problem("`one_of` is for fields of the role `plain`; leave it out", value.span());
    }
    let attachment = table.get("attachment").and_then(|value| attachment(reader, value, is_list));
    let bytes = max_bytes.unwrap_or(if is_text { most } else { NAMED });
    let max_bytes = usize::try_from(bytes).unwrap_or(MAX_BODY);
    Some(FieldTerms { role, is_required, is_list, max_bytes, one_of, templates, attachment })
}

/// The most characters of a file's name.
const FILE_NAME: usize = 100;

/// The name of the file as which a field goes with a mail: the policy's word, which no agent can choose.
fn attachment(reader: &mut TomlReader, value: PlacedValue<'_>, is_list: bool) -> Option<String> {
    let name = reader.text(value)?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ._-".contains(&byte));
    if name.is_empty() || name.starts_with('.') || !is_plain || name.len() > FILE_NAME {
        let message = format!(
            "this is no name of a file that goes with a mail; write at most {FILE_NAME} ASCII letters, digits, spaces, `.`, \
             `_` and `-`, no path and no `.` at the beginning"
        );
        reader.problem(message, value.span());
        return None;
    }
    if is_list {
        reader.problem("`attachment` is for a field of one text; leave out `list`", value.span());
        return None;
    }
    Some(name.to_owned())
}

fn role_of_word(word: &str, text: FreeText) -> Option<FieldRole> {
    Some(match word {
        "recipient" => FieldRole::Recipient,
        "host" => FieldRole::Host,
        "url" => FieldRole::Url,
        "amount" => FieldRole::Amount,
        "id" => FieldRole::Id(CaseSensitivity::Exact),
        "folded-id" => FieldRole::Id(CaseSensitivity::Folded),
        "number" => FieldRole::Number,
        "text" => FieldRole::FreeText(text),
        "plain" => FieldRole::Plain,
        _ => return None,
    })
}
