//! `proem mcp`: serves this project to clients of the Model Context Protocol.
//!
//! On standard input and output, nothing but the protocol goes to standard output.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use proem_app::project::OpenProject;
use proem_app::records::served_calls::CallRecorder;
use proem_app::secrets::load_credential;
use proem_app::{Error, records};
use proem_mcp::{HttpOptions, McpServer, McpSetting, serve_http, serve_stdio};

use crate::failure::CommandFailure;
use crate::{hints, ui};

pub(crate) const MCP_EXAMPLES: &str = "\
Clients start the server themselves. Register it once:
  claude mcp add proem -- proem mcp --root /path/to/project       # Claude Code
  codex mcp add proem -- proem mcp --root /path/to/project        # Codex

Claude Desktop, Cursor and others (`mcpServers`), VS Code (`servers` in .vscode/mcp.json):
  { \"mcpServers\": { \"proem\": { \"command\": \"proem\", \"args\": [\"mcp\", \"--root\", \"/path\"] } } }

Have each call and its answer recorded; `proem runs list --any` lists them:
  claude mcp add proem -- proem mcp --record --root /path/to/project

Over HTTP, with a token from your configuration (`effects.credentials`):
  proem mcp --http 127.0.0.1:8642 --token mcp

The tools only read. Actions are approved with `proem queue`, never through a client.";

#[derive(Debug, Parser)]
pub(crate) struct McpArgs {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Record each call and its answer as a run; a call that can't be recorded is refused
    #[arg(long)]
    record: bool,
    /// Serve streamable HTTP on this loopback address instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// The name of the credential under `effects.credentials` that clients must send as a bearer token
    #[arg(long, value_name = "NAME", requires = "http")]
    token: Option<String>,
    /// An origin whose web pages may connect, such as http://localhost:6274; without it, none may
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
}

pub(super) fn run_mcp(args: &McpArgs) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    // Every call opens the project anew. What there is to say about its files is said once, here.
    let project = OpenProject::without_book(&args.root, &places)?;
    ui::print_notes(&project.all_notes());
    let calls = match args.record {
        true => Some(Arc::new(ui::print_notes_of(records::blocking(CallRecorder::open(&project))?))),
        false => None,
    };
    let server = McpServer::new(McpSetting { root: args.root.clone(), places, error_words: serving_error_words });
    let server = calls.iter().fold(server, |server, calls| server.recording(Arc::clone(calls)));
    let served = serve_on(args, &project, &server);
    drop(server);
    // Calls that are still made, because their client went, keep the records open until the process ends.
    if let Some(calls) = calls.and_then(Arc::into_inner) {
        ui::print_notes(&records::blocking(async { Ok::<_, Error>(calls.close().await) })?);
    }
    served.map(|()| ExitCode::SUCCESS)
}

fn serve_on(args: &McpArgs, project: &OpenProject, server: &McpServer) -> Result<(), CommandFailure> {
    match args.http {
        None => serve_stdio(server, print_refusal)?,
        Some(address) => {
            let token = args.token.as_deref().map(|name| load_credential(project, name)).transpose()?;
            let options = HttpOptions { address, token, origins: args.allow_origin.clone() };
            serve_http(server, options, |url| ui::print_note(&format!("listening on {url}; ^C ends it")))?;
        }
    }
    Ok(())
}

/// Says on standard error that a message was refused.
fn print_refusal(words: &str) {
    ui::print_note(words);
}

/// A failure with its remedy, as any other command words it.
fn serving_error_words(error: &Error) -> String {
    format!("{error}{}", error.hint().map(hints::remedy_tail).unwrap_or_default())
}
