//! The text about models in the help of every command that counts, plans, encodes for or asks one.

/// Examples with the part about models behind them. `$who` says what holds without `--model`.
macro_rules! with_models {
    ($who:literal, $examples:literal) => {
        concat!(
            $examples,
            "

Models:
  Without --model: `model` of your configuration, or else ",
            $who,
            ".
  `[roles]` says which model a role is. For a server of your own, such as Ollama or vLLM,
  add this to ~/.config/proem/config.toml:
    [providers.local]
    base_url = \"http://127.0.0.1:11434/v1\"
    [roles]
    small = \"local/llama3.1\"
  --model local/NAME, or --provider local --model NAME, selects any other model of that server."
        )
    };
}

pub(crate) use with_models;
