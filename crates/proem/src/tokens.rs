//! How many tokens a model makes of a text.

pub use proem_engine::tokens::Exactness;

use std::sync::OnceLock;

use proem_engine::providers::{Model, Provider, Providers};

use crate::Error;

/// A number of tokens, and how far it can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCount {
    /// The number of tokens, by the tokeniser that was used.
    pub tokens: usize,
    /// [`Exactness::Exact`] where the model's own tokeniser counted, [`Exactness::Estimate`] where its tokeniser is
    /// not public or not known and another one's count was scaled.
    pub exactness: Exactness,
}

/// Counts the tokens of a text as `model` cuts it: a listed model's name, a role such as `small`, or any other name,
/// which is counted by o200k and reported as an estimate.
///
/// ```
/// use proem::tokens::{Exactness, count};
///
/// let counted = count("gpt-4o", "hello world")?;
/// assert_eq!((counted.tokens, counted.exactness), (2, Exactness::Exact));
/// # Ok::<(), proem::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if the table of models inside the program is damaged.
pub fn count(model: &str, text: &str) -> Result<TokenCount, Error> {
    let counter = model_named(model)?.counter();
    Ok(TokenCount { tokens: counter.count(text), exactness: counter.exactness() })
}

/// The model of that name. One that is not listed speaks OpenAI's protocol, and its limits and prices are unknown.
pub(crate) fn model_named(name: &str) -> Result<Model, Error> {
    let providers = listed_models()?;
    Ok(providers.model(name).cloned().unwrap_or_else(|_| providers.unlisted(name, Provider::OpenAi)))
}

/// The table of models inside the program, read once in a process.
fn listed_models() -> Result<&'static Providers, Error> {
    static LISTED: OnceLock<Providers> = OnceLock::new();
    if let Some(providers) = LISTED.get() {
        return Ok(providers);
    }
    let providers = Providers::load()?;
    Ok(LISTED.get_or_init(|| providers))
}
