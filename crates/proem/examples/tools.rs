//! Which of my tools does a task need?
//!
//! ```text
//! Release version 2.1 to the servers tonight: ["deploy"]
//! Open a bug report about the login: ["issues"]
//! What is the capital of Peru?: []
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, Toolbox};

const TOOLS: &str = r#"{"name": "deploy", "description": "Release a build to the servers"}
{"name": "issues", "description": "Search and file issues in the tracker"}
{"name": "translate", "description": "Translate a text into another language"}"#;

fn main() -> Result<(), Error> {
    let tools = Toolbox::of_lines(TOOLS)?;
    for task in [
        "Release version 2.1 to the servers tonight",
        "Open a bug report about the login",
        "What is the capital of Peru?",
    ] {
        let ranked = tools.rank(task)?;
        let fitting: Vec<&str> = ranked.iter().filter(|tool| tool.fits).map(|tool| tool.name.as_str()).collect();
        println!("{task}: {fitting:?}");
    }
    Ok(())
}
