//! How many tokens is a text, and how sure is that?
//!
//! ```text
//! gpt-4o: 7 (Exact)
//! claude-haiku-4-5: 10 (Estimate)
//! my-own-model: 7 (Estimate)
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, tokens};

fn main() -> Result<(), Error> {
    for model in ["gpt-4o", "claude-haiku-4-5", "my-own-model"] {
        let counted = tokens::count(model, "The kettle leaks at its base.")?;
        println!("{model}: {} ({:?})", counted.tokens, counted.exactness);
    }
    Ok(())
}
