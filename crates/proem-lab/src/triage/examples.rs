//! Short examples of what messages say, one a line: category, importance, language, shape and text, with `|` between.

use std::path::Path;

use proem_engine::run::Time;
use proem_triage::contract::{RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};
use proem_triage::{ProjectSignal, SourceContext, normalise_value};
use serde_json::{Value as Json, json};

use super::labelled_signals::{FOLDER, LabelledKind, LabelledSignal, SignalLabels};
use crate::selection::public_sets::read_data_file;

/// Each of so many examples is there a second time with an attack behind it, so that attacks say nothing.
const ATTACKED: u32 = 3;

/// The files of those who have seen neither rules nor lexicon.
pub(super) const WRITERS: [&str; 9] =
    ["writer-a", "writer-b", "writer-c", "writer-d", "writer-e", "writer-f", "writer-g", "writer-h", "writer-i"];

/// The examples of a file as signals of the project. Each of some is there a second time with an attack behind it.
pub(super) fn read_examples(workspace: &Path, name: &str) -> Result<Vec<LabelledSignal>, String> {
    read_example_file(workspace, name, ATTACKED)
}

/// The same without attacks.
pub(super) fn plain_examples(workspace: &Path, name: &str) -> Result<Vec<LabelledSignal>, String> {
    read_example_file(workspace, name, u32::MAX)
}

fn read_example_file(workspace: &Path, name: &str, attacked: u32) -> Result<Vec<LabelledSignal>, String> {
    let path = workspace.join(FOLDER).join(format!("{name}.psv"));
    let (file, attacks) = (read_data_file(&path)?, read_data_file(&workspace.join(FOLDER).join("attacks.txt"))?);
    let mut attacks = attacks.lines().cycle();
    let mut out = Vec::new();
    for (number, line) in (1..).zip(file.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty()) {
        let read = |number, line: &str| {
            example(number, line).ok_or_else(|| format!("`{}`, line {number}: this is no example", path.display()))
        };
        out.push(read(number, line)?);
        if let Some(attack) = attacks.next().filter(|_| number % attacked == 0) {
            out.push(read(number, &format!("{line} {attack}"))?);
        }
    }
    Ok(out)
}

fn example(number: u32, line: &str) -> Option<LabelledSignal> {
    let parts: Vec<&str> = line.splitn(5, '|').collect();
    let [category, importance, _language, shape, text] = parts.as_slice() else { return None };
    let (title, body) = text.split_once(" ::").map_or(("Story", *text), |(title, body)| (title, body.trim()));
    let context = SourceContext { now: Time(1_795_392_000_000), mail_servers: &[], audiences: &[] };
    let found = normalise_value(example_document(number, shape, title, body)?, &context);
    let [signal] = <[ProjectSignal; 1]>::try_from(found.signals).ok()?;
    let labels = SignalLabels {
        category: SignalCategory::parse(category)?,
        importance: SignalImportance::parse(importance)?,
        action: RecommendedAction::NoAction,
        time: TimeSensitivity::NoDeadline,
    };
    Some(LabelledSignal { id: format!("X{number}"), kind: LabelledKind::Plain, labels, signal })
}

/// A document of a mail, a comment or a ticket.
pub(super) fn example_document(number: u32, shape: &str, title: &str, body: &str) -> Option<Json> {
    let address = match shape {
        "m" => "lena@corp.example",
        "s" => "marc@corp.example",
        "d" => "dana@corp.example",
        "e" => "ines.duarte@bank.example",
        "o" => "kim@vendor.example",
        "n" => "noreply@tool.example",
        "c" | "t" | "b" => "",
        _ => return None,
    };
    let stamp = "2026-11-20T10:00:00.000+0000";
    if !address.is_empty() {
        let sender = json!({ "emailAddress": { "name": "Somebody", "address": address } });
        return Some(json!({
            "id": format!("AAMkX{number}="), "receivedDateTime": "2026-11-20T10:00:00Z",
            "internetMessageId": format!("<x{number}@corp.example>"), "subject": title, "bodyPreview": "",
            "importance": "normal", "conversationId": format!("AAQkX{number}="),
            "body": { "contentType": "text", "content": body }, "sender": sender, "from": sender, "toRecipients": [],
        }));
    }
    let of_type = if shape == "b" { "Bug" } else { "Task" };
    let mut fields = json!({
        "summary": title, "issuetype": { "name": of_type, "subtask": false },
        "project": { "id": "10010", "key": "PAY", "name": "Payments" }, "priority": { "name": "Medium" },
        "status": { "name": "To Do", "statusCategory": { "key": "new" } }, "created": stamp, "updated": stamp,
    });
    let person = json!({ "accountId": "712020:somebody", "displayName": "Somebody" });
    let (time, id, key) = (1_795_168_800_000_u64, number.to_string(), format!("PAY-{}", 9_000 + number));
    if shape == "c" {
        let comment = json!({ "id": id, "author": person, "body": body, "created": stamp, "updated": stamp });
        let issue = json!({ "id": id, "key": key, "fields": fields });
        return Some(
            json!({ "timestamp": time, "webhookEvent": "comment_created", "comment": comment, "issue": issue }),
        );
    }
    if let Json::Object(fields) = &mut fields {
        fields.insert("description".to_owned(), if body.is_empty() { Json::Null } else { body.into() });
    }
    let issue = json!({ "id": id, "key": key, "fields": fields });
    Some(json!({
        "timestamp": time, "webhookEvent": "jira:issue_created", "issue_event_type_name": "issue_created",
        "user": person, "issue": issue,
    }))
}
