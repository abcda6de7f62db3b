//! What will the provider's cache do with my prompt?
//!
//! ```text
//! the first 130 of 137 tokens are stable, but claude-haiku-4-5 caches no prefix shorter than 4,096, so every call pays for all of them
//! claude-haiku-4-5 caches the first 11,700 of 11,707 tokens, which is cheaper from call 2 on if calls are at most 5 minutes apart and saves 89% of the input price of each later call
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, Prompt, RenderOptions};

const PROMPT: &str = r#"---
input: { schema: { question: string } }
proem:
  version: 1.0.0
  sections: [{ name: handbook, trust: constitution, cache: static }, { name: question, trust: task }]
  inputs: { question: { trust: trusted } }
---
{{role "system"}}{{section "handbook"}}HANDBOOK
{{role "user"}}{{section "question"}}{{question}}"#;

fn main() -> Result<(), Error> {
    for lines in [10, 900] {
        let handbook = "Every kettle is tested with two litres of water. ".repeat(lines);
        let prompt = Prompt::parse(&PROMPT.replace("HANDBOOK", &handbook))?;
        let options = RenderOptions::default().model("claude-haiku-4-5");
        let rendered = options.render(&prompt, &serde_json::json!({ "question": "How is it tested?" }))?;
        println!("{}", rendered.cache().sentence());
    }
    Ok(())
}
