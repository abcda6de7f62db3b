//! How do I ask the same of many inputs, within a budget?
//!
//! ```text
//! {"urgent":true}
//! {"urgent":false}
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::num::NonZeroU32;

use proem::proem_llm::scripted::{Reply, ScriptedServer};
use proem::{Budget, Client, Prompt};

const PROMPT: &str = r#"---
input: { schema: { complaint: string } }
output: { schema: { urgent: boolean } }
proem:
  version: 1.0.0
  budget: { output: 100 }
  sections: [{ name: complaint, trust: untrusted }]
---
{{role "user"}}{{section "complaint"}}{{complaint}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ScriptedServer::answering(|request| {
        let asked = String::from_utf8_lossy(&request.body).into_owned();
        Reply::value(serde_json::json!({ "urgent": asked.contains("smoke") }))
    })?;
    let budget = Budget::default().attempts(NonZeroU32::MIN).tokens(2_000);
    let client = Client::of_server(format!("{}/v1", server.base_url()), "scripted")?.budget(budget);
    let complaints =
        ["It smells of smoke.", "The lid is scratched."].map(|text| serde_json::json!({ "complaint": text }));
    // The prompt has a contract of its own, so any JSON value will do.
    for answer in client.ask_each::<serde_json::Value>(&Prompt::parse(PROMPT)?, &complaints).await? {
        println!("{}", answer?.value);
    }
    Ok(())
}
