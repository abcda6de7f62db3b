//! How do I render a prompt?
//!
//! ```text
//! system: You name the product that a complaint is about.
//! user: Complaint number 17, in German.
//! 24 tokens
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, Prompt};
use serde::Serialize;

/// Any value that serialises to an object is the inputs.
#[derive(Serialize)]
struct Inputs {
    number: u32,
    language: &'static str,
}

const PROMPT: &str = r#"---
input: { schema: { number: integer, language: string } }
proem:
  version: 1.0.0
  sections: [{ name: role, trust: constitution }, { name: task, trust: task }]
  inputs: { number: { trust: trusted }, language: { trust: trusted } }
---
{{role "system"}}{{section "role"}}You name the product that a complaint is about.
{{role "user"}}{{section "task"}}Complaint number {{number}}, in {{language}}."#;

fn main() -> Result<(), Error> {
    let rendered = Prompt::parse(PROMPT)?.render(&Inputs { number: 17, language: "German" })?;
    for (role, text) in rendered.messages() {
        println!("{}: {}", role.as_str(), text.trim());
    }
    println!("{} tokens", rendered.tokens());
    Ok(())
}
