//! The caller's wishes for the answer of any prompt.

use clap::Parser;
use proem_app::records::learning::{Adapting, CallerWishes};

/// The caller's wishes for an answer, independent of earlier results.
#[derive(Debug, Clone, Parser)]
pub(crate) struct AnswerWishes {
    /// Ask for a short answer
    #[arg(long)]
    pub(crate) time_sensitive: bool,
    /// Ask the model to consider compliance requirements
    #[arg(long)]
    pub(crate) compliance_required: bool,
    /// Ask for a format, such as Markdown or JSON
    #[arg(long, value_name = "FORMAT")]
    pub(crate) preferred_format: Option<String>,
    /// Leave the profile out of the prompt: no lessons from failures, no preferences of yours
    #[arg(long, conflicts_with_all = ["time_sensitive", "compliance_required", "preferred_format"])]
    pub(crate) no_adapt: bool,
}

impl AnswerWishes {
    /// The influences on the prompt.
    pub(crate) fn adapting(&self) -> Adapting {
        let format = self.preferred_format.clone().map(|name| (name, "--preferred-format"));
        let wishes = CallerWishes {
            time_sensitive: self.time_sensitive,
            compliance_required: self.compliance_required,
            preferred_format: format,
        };
        Adapting { wishes, is_off: self.no_adapt }
    }
}
