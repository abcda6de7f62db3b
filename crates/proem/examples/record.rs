//! How do I record what goes over the wire, and replay it in a test without a server?
//!
//! ```text
//! The seal. true
//! true
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use proem::proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use proem::{Client, Prompt};

const PROMPT: &str = r#"---
input: { schema: { question: string } }
proem:
  version: 1.0.0
  sections: [{ name: question, trust: task }]
  inputs: { question: { trust: trusted } }
---
{{role "user"}}{{section "question"}}{{question}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let prompt = Prompt::parse(PROMPT)?;
    let inputs = serde_json::json!({ "question": "Which part leaks?" });
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("The seal.")]))?;
    let url = format!("{}/v1", server.base_url());
    let asked = Client::of_server(&url, "scripted")?.record_to(folder.path()).ask::<String>(&prompt, &inputs).await?;
    drop(server);
    let replayed =
        Client::of_server(&url, "scripted")?.replay_from(folder.path()).ask::<String>(&prompt, &inputs).await?;
    println!("{} {}", asked.value, asked.value == replayed.value);
    // A request that was unrecorded has no answer.
    let other = serde_json::json!({ "question": "Who made it?" });
    let unknown = Client::of_server(&url, "scripted")?.replay_from(folder.path()).ask::<String>(&prompt, &other).await;
    println!("{}", unknown.is_err());
    Ok(())
}
