//! How do I ask a model and get a checked value? Name a server and a model to ask them. A scripted one answers
//! otherwise.
//!
//! ```text
//! kettle, faulty: true
//! after 2 attempts
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use proem::proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use proem::{Client, Prompt};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, proem::schemars::JsonSchema)]
#[schemars(crate = "proem::schemars")]
struct Product {
    name: String,
    faulty: bool,
}

const PROMPT: &str = r#"---
input: { schema: { complaint: string } }
proem:
  version: 1.0.0
  sections: [{ name: role, trust: constitution }, { name: complaint, trust: untrusted }]
---
{{role "system"}}{{section "role"}}Name the product, and whether it is faulty.
{{role "user"}}{{section "complaint"}}{{complaint}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The first answer lacks a field, so the client asks once more and says what is wrong.
    let replies =
        vec![Reply::value(json!({ "name": "kettle" })), Reply::value(json!({ "name": "kettle", "faulty": true }))];
    let scripted = ScriptedServer::start(ServerScript::of(replies))?;
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| format!("{}/v1", scripted.base_url()));
    let client = Client::of_server(server, arguments.next().unwrap_or_else(|| "scripted".to_owned()))?;
    let prompt = Prompt::parse(PROMPT)?;
    let answer = client.ask::<Product>(&prompt, &json!({ "complaint": "My new kettle leaks." })).await?;
    let Product { name, faulty } = answer.value;
    println!("{name}, faulty: {faulty}");
    println!("after {} attempts", answer.attempts);
    Ok(())
}
