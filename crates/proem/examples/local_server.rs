//! What does a server of my own need before it gives checked values? An address: how it is held to a schema is found.
//!
//! ```text
//! urgent: true, asked once
//! the server does not hold answers to a schema by `schema`; `object` is used from here on, which is remembered
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use proem::proem_llm::scripted::{Reply, ScriptedServer};
use proem::{Client, Prompt};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, proem::schemars::JsonSchema)]
#[schemars(crate = "proem::schemars")]
struct Triage {
    urgent: bool,
}

const PROMPT: &str = r#"---
input: { schema: { complaint: string } }
proem:
  version: 1.0.0
  budget: { output: 100 }
  sections: [{ name: complaint, trust: untrusted }]
---
{{role "user"}}{{section "complaint"}}{{complaint}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A server that takes neither schemas nor tools, like some local ones.
    let server = ScriptedServer::answering(|request| {
        let body = request.json().unwrap_or_default();
        let is_schema = body.pointer("/response_format/type").is_some_and(|kind| kind == "json_schema");
        let is_refused = is_schema || body.get("tools").is_some();
        let message = json!({ "error": { "message": "response_format and tool_choice are not supported" } });
        if is_refused { Reply::raw(400, message.to_string()) } else { Reply::text(r#"{"urgent": true}"#) }
    })?;
    let client = Client::of_server(format!("{}/v1", server.base_url()), "scripted")?;
    let prompt = Prompt::parse(PROMPT)?;
    let answer = client.ask::<Triage>(&prompt, &json!({ "complaint": "It smells of smoke." })).await?;
    let times = if answer.attempts == 1 { "once" } else { "more than once" };
    println!("urgent: {}, asked {times}", answer.value.urgent);
    answer.notes.iter().for_each(|note| println!("{note}"));
    Ok(())
}
