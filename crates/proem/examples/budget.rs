//! How do I fit a prompt into a budget, and learn what was left out?
//!
//! ```text
//! 800 tokens: 689 used, []
//! 200 tokens: 148 used, ["document: over budget (priority 60): document shortened, 541 tokens left out"]
//! 60 tokens: 14 used, ["document: over budget (priority 60): 675 tokens left out"]
//! 5 tokens: budget too small: the whole prompt may have 5 tokens and needs at least 14 (`role` 7, `question` 7); raise the limit or shorten these sections
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, Prompt, RenderOptions};

const PROMPT: &str = r#"---
input: { schema: { document: string, question: string } }
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
    - { name: document, trust: untrusted, priority: 60, ladder: { document: [full, brief, omitted] } }
    - { name: question, trust: task }
  inputs: { question: { trust: trusted } }
---
{{role "system"}}{{section "role"}}Answer from the document.
{{role "user"}}{{section "document"}}{{document}}
{{section "question"}}{{question}}"#;

fn main() -> Result<(), Error> {
    let prompt = Prompt::parse(PROMPT)?;
    // A secret of your own makes the delimiters, and so the counts, the same in every process.
    let document = "The kettle has a lid, a base and a cord. ".repeat(40);
    let inputs = serde_json::json!({ "document": document, "question": "Which parts has it?" });
    for most in [800, 200, 60, 5] {
        match RenderOptions::default().key([7; 32]).max_tokens(most).render(&prompt, &inputs) {
            Ok(rendered) => println!("{most} tokens: {} used, {:?}", rendered.tokens(), rendered.shortened()),
            Err(error) => println!("{most} tokens: {error}"),
        }
    }
    Ok(())
}
