//! A provider on this machine that says what a script tells it to, to try prompts without a key.
//!
//! `cargo run -p proem-llm --features scripted --example scripted -- SCRIPT.json`
//!
//! It prints its address and runs until its standard input ends.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::io::Read as _;

use proem_llm::scripted::{ScriptedServer, ServerScript};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a script: a JSON file with `rules`")?;
    let server = ScriptedServer::start(ServerScript::from_json(&std::fs::read_to_string(path)?)?)?;
    println!("{}", server.base_url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{} requests, {} at once at most", server.requests().len(), server.most_at_once());
    Ok(())
}
