//! `proem catalogue fetch`: asks servers for their tools.

use std::path::Path;
use std::process::ExitCode;

use proem_app::catalogue::{FetchedServer, fetch_servers};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::count_of_entries;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, RED, style_text};

/// How many characters of a failed program's last words are shown.
const LAST_WORDS: usize = 600;

/// The answers of servers that were asked for their tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueFetchOutput<'f> {
    /// The servers, in the order in which they were asked.
    servers: &'f [FetchedServer],
}

pub(super) fn run_catalogue_fetch(names: &[String], root: &Path, wants_json: bool) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    let mut tell = |name: &str| ui::aside(&format!("asking {name} for its tools\n"));
    let fetched =
        records::blocking(async { fetch_servers(&project, names, &mut tell).await.map_err(CommandFailure::from) })?;
    if wants_json {
        ui::print_json_document(&json::pretty(&json!(CatalogueFetchOutput { servers: &fetched })))?;
    } else {
        ui::print_listing(&fetched.iter().map(fetched_server_line).collect::<String>())?;
    }
    for server in &fetched {
        if !server.new.is_empty() || !server.changed.is_empty() {
            ui::print_note(&format!(
                "`proem catalogue approve {}` shows what is new and asks for your yes",
                server.server
            ));
        }
    }
    let has_failed = fetched.iter().any(|server| server.failure.is_some());
    Ok(if has_failed { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn fetched_server_line(fetched: &FetchedServer) -> String {
    let name = style_text(BOLD, &format!("{:14}", fetched.server));
    let Some(tools) = fetched.tools else {
        let failure = fetched.failure.as_deref().unwrap_or_default();
        let wrote = fetched.wrote.as_ref().map_or_else(String::new, |wrote| {
            let words = show::terminal_capped(wrote, LAST_WORDS).into_string();
            format!("               {}\n", style_text(DIM, &format!("it wrote: {words}")))
        });
        return format!("{name} {}\n{wrote}", style_text(RED, failure));
    };
    let FetchedServer { new, changed, gone, .. } = fetched;
    let counts = format!("{} new, {} changed, {} gone", new.len(), changed.len(), gone.len());
    format!("{name} {}: {counts}\n", count_of_entries(tools, "tool"))
}
