//! The language as prompts describe it, in three lengths.

use super::chapters;
use alloc::{borrow::Cow, format, string::String};

/// How much a prompt says about the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptReference {
    /// The lean text and every form and function with its arguments and its description.
    Full,
    /// The differences from Clojure, and common patterns: at most 400 tokens.
    Lean,
    /// Nothing, for models that know the language.
    None,
}

/// Five headings, as the specification of the system prompt names them.
const LEAN: &str = include_str!("lean.md");

impl PromptReference {
    /// The text, in Markdown, with a final line break unless it is empty.
    #[must_use]
    pub fn text(self) -> Cow<'static, str> {
        match self {
            Self::Full => Cow::Owned(full()),
            Self::Lean => Cow::Borrowed(LEAN),
            Self::None => Cow::Borrowed(""),
        }
    }
}

fn full() -> String {
    let mut out = String::from(LEAN);
    out.push_str("\n## Forms and functions\nIn signatures `?` marks what may be missing and `&` any number.\n");
    for chapter in chapters() {
        out.push_str(&format!("\n### {}\n", chapter.title));
        for entry in chapter.entries {
            out.push_str(&format!("- `{}` {}\n", entry.usage(), entry.doc));
        }
    }
    out
}
