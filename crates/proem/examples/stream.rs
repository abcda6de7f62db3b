//! How do I show an answer while it arrives?
//!
//! ```text
//! Empty it,
//! and look at the seal.
//! 31 characters in all
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use proem::proem_guard::show::TerminalStream;
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
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("Empty it,\nand look at the seal.")]))?;
    let client = Client::of_server(format!("{}/v1", server.base_url()), "scripted")?;
    let inputs = serde_json::json!({ "question": "My kettle leaks. What now?" });
    // A model's words are text from outside: the stream shows control characters instead of obeying them.
    let mut screen = TerminalStream::new();
    let hear = |more: &str| print!("{}", screen.push(more).as_str());
    let answer = client.ask_streaming(&Prompt::parse(PROMPT)?, &inputs, hear).await?;
    println!("\n{} characters in all", answer.value.chars().count());
    Ok(())
}
