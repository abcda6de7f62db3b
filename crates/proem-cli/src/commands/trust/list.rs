//! `proem trust list`

use std::process::ExitCode;

use proem_guard::show;
use proem_text::{CalendarDate, json};
use serde_json::{Map, Value, json};

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, GREEN, RED, YELLOW, style_text};
use proem_app::trust::candidates::Candidates;
use proem_app::trust::{TrustEntry, TrustPlace, TrustState, trust_entries};

pub(super) fn run_trust_list(place: &TrustPlace, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let entries = trust_entries(&Candidates::read(&place.root), &place.trust);
    if as_json {
        let files: Vec<Value> = entries.iter().map(|(path, entry)| trust_entry_json(path, entry)).collect();
        let root = place.root.to_string_lossy();
        ui::print_json_document(&json::pretty(&json!({ "files": files, "root": root })))?;
        return Ok(ExitCode::SUCCESS);
    }
    if entries.is_empty() {
        ui::aside("there are no files here that need trust\n");
    }
    let width = entries.values().map(|entry| trust_state_words(&entry.state).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (path, entry) in &entries {
        let (state, style) = (trust_state_words(&entry.state), trust_state_style(&entry.state));
        let gap = " ".repeat(width.saturating_sub(state.chars().count()));
        let hash: String = entry.hash.as_deref().unwrap_or("-").chars().take(12).collect();
        let path = show::terminal_str(path);
        text.push_str(&format!("{}{gap}  {hash:12}  {path}", style_text(style, &state)));
        if let TrustState::Refused(why) = &entry.state {
            text.push_str(&format!(" ({why})"));
        }
        text.push('\n');
    }
    ui::print_listing(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn trust_state_words(state: &TrustState) -> String {
    match state {
        TrustState::Trusted => "trusted".into(),
        TrustState::Editing(until) => format!("while editing until {}", utc_minute(*until)),
        TrustState::Changed => "changed since".into(),
        TrustState::Untrusted => "not trusted".into(),
        TrustState::Gone => "not in this folder".into(),
        TrustState::Refused(_) => "can't be trusted".into(),
    }
}

const fn trust_state_style(state: &TrustState) -> anstyle::Style {
    match state {
        TrustState::Trusted => GREEN,
        TrustState::Editing(_) | TrustState::Changed => YELLOW,
        TrustState::Untrusted | TrustState::Gone => DIM,
        TrustState::Refused(_) => RED,
    }
}

fn trust_entry_json(path: &str, entry: &TrustEntry) -> Value {
    let mut fields = Map::new();
    let state = match &entry.state {
        TrustState::Trusted => "trusted",
        TrustState::Editing(until) => {
            fields.insert("until".into(), json!(until));
            "editing"
        }
        TrustState::Changed => "changed",
        TrustState::Untrusted => "untrusted",
        TrustState::Gone => "gone",
        TrustState::Refused(why) => {
            fields.insert("why".into(), json!(why));
            "refused"
        }
    };
    fields.insert("path".into(), json!(path));
    fields.insert("state".into(), json!(state));
    fields.insert("sha256".into(), json!(entry.hash));
    Value::Object(fields)
}

/// A time as a person reads it, to the minute.
pub(super) fn utc_minute(seconds: i64) -> String {
    let (date, second) = (CalendarDate::from_seconds(seconds), seconds.rem_euclid(86_400));
    format!("{date} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (4_102_444_800, "2100-01-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(utc_minute(seconds), expected);
        }
    }
}
