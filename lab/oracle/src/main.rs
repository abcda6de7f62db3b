//! Compares `proem-tokens` with `bpe-openai`, and writes what `proem-tokens` ships and tests.
//!
//! `README.md` names the commands. The exit code is 1 where the two differ.

mod compare;
#[path = "../../../crates/proem-tokens/tests/it/corpus/mod.rs"]
mod corpus;
mod counts;
mod first;
mod noise;
mod tables;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let agrees = match words.as_slice() {
        ["tables"] => tables::write(),
        ["counts"] => counts::write(),
        ["compare", folders @ ..] if !folders.is_empty() => compare::folders(folders),
        ["noise", seconds] => noise::compare(seconds.parse().expect("a number of seconds")),
        ["first"] => first::print(),
        ["first", which] => first::use_once(which),
        ["long"] => compare::long(),
        ["slow"] => noise::print_slowest(),
        _ => {
            eprintln!("usage: proem-oracle tables | counts | compare FOLDER... | noise SECONDS | first | long | slow");
            return ExitCode::from(2);
        }
    };
    if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
