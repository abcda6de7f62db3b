//! `proem trust list`

use std::process::ExitCode;

use proem_guard::show;
use proem_text::{CalendarDate, json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, GREEN, RED, YELLOW, style_text};
use proem_app::trust::candidates::Candidates;
use proem_app::trust::{TrustEntry, TrustPlace, TrustState, trust_entries};

/// The files that need trust.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustListOutput {
    /// The folder of the project.
    root: String,
    files: Vec<TrustedFileOutput>,
}

/// A file that needs trust.
#[derive(Debug, Serialize, JsonSchema)]
struct TrustedFileOutput {
    /// Its path in the project.
    path: String,
    /// `trusted`, `editing`, `changed`, `untrusted`, `gone` or `refused`.
    state: &'static str,
    /// The hash of its content. Null if there is none.
    sha256: Option<String>,
    /// Until when the file is trusted while it is edited, in seconds since 1970. Absent in any other state.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    /// Why it can't be trusted. Absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) fn run_trust_list(place: &TrustPlace, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let entries = trust_entries(&Candidates::read(&place.root), &place.trust);
    if as_json {
        let files = entries.iter().map(|(path, entry)| TrustedFileOutput::new(path, entry)).collect();
        let output = TrustListOutput { root: place.root.to_string_lossy().into_owned(), files };
        ui::print_json_document(&json::pretty(&json!(output)))?;
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

impl TrustedFileOutput {
    fn new(path: &str, entry: &TrustEntry) -> Self {
        let (state, until, why) = match &entry.state {
            TrustState::Trusted => ("trusted", None, None),
            TrustState::Editing(until) => ("editing", Some(*until), None),
            TrustState::Changed => ("changed", None, None),
            TrustState::Untrusted => ("untrusted", None, None),
            TrustState::Gone => ("gone", None, None),
            TrustState::Refused(why) => ("refused", None, Some(why.to_string())),
        };
        Self { path: path.to_owned(), state, sha256: entry.hash.clone(), until, why }
    }
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
