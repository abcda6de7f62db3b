//! Prompts as an engineered artefact: what a model reads, what that costs, and what its answer may do.
//!
//! A prompt is a file with named sections. Rendering takes its inputs from any `Serialize` value, keeps text from
//! outside between keyed delimiters, and fits a token budget. The same inputs give the same text.
//!
//! ```
//! use proem::Prompt;
//!
//! let prompt = Prompt::parse(
//!     r#"---
//! input: { schema: { complaint: string } }
//! proem:
//!   version: 1.0.0
//!   sections: [{ name: role, trust: constitution }, { name: complaint, trust: untrusted }]
//!   inputs: { complaint: { trust: untrusted } }
//! ---
//! {{role "system"}}{{section "role"}}Name the product that the complaint is about.
//! {{role "user"}}{{section "complaint"}}{{complaint}}"#,
//! )?;
//! let rendered = prompt.render(&serde_json::json!({ "complaint": "The kettle leaks." }))?;
//! assert!(rendered.text().contains("The kettle leaks."));
//! # Ok::<(), proem::Error>(())
//! ```
//!
//! | you want to | start with | feature |
//! |---|---|---|
//! | render a prompt under a budget | [`Prompt`], [`RenderOptions`] | `assemble` (default) |
//! | look for attacks in a text, and contain it | [`Guard`] | `guard` (default) |
//! | read the value of a model's answer | [`decode()`] | `guard` (default) |
//! | count tokens | [`tokens::count`] | `tokens` (default) |
//! | cap what calls may cost | [`CallBudget`] | `tokens` (default) |
//! | ask a model for a checked value | `Client` | `llm` |
//! | assess a commit | `risk::assess` | `risk` |
//! | pick the tools for a task | `Toolbox` | `select` |
//!
//! Each of these is a thin face of a crate that does the work, which is re-exported under its own name for whatever
//! the face leaves out. The folder `examples` answers one question with each file.

mod error;

#[cfg(feature = "tokens")]
mod budget;
#[cfg(feature = "llm")]
pub mod client;
#[cfg(feature = "guard")]
mod decode;
#[cfg(feature = "guard")]
pub mod guard;
#[cfg(feature = "guard")]
mod key;
#[cfg(feature = "assemble")]
pub mod prompt;
#[cfg(feature = "risk")]
pub mod risk;
#[cfg(feature = "select")]
pub mod select;
#[cfg(feature = "tokens")]
pub mod tokens;

#[cfg(feature = "tokens")]
pub use budget::{CallBooking, CallBudget, ReportedUsage, SpentAmounts, prompt_token_bound};
#[cfg(feature = "llm")]
pub use client::{Answer, Budget, Client, Records};
#[cfg(feature = "guard")]
pub use decode::{Decoded, decode};
pub use error::{Error, ErrorKind};
#[cfg(feature = "guard")]
pub use guard::{Containment, Guard, ScanReport};
#[cfg(feature = "assemble")]
pub use prompt::{Prompt, RenderOptions, Rendered};
#[cfg(feature = "select")]
pub use select::Toolbox;

#[cfg(feature = "assemble")]
pub use proem_agents;
#[cfg(feature = "llm")]
pub use proem_app;
pub use proem_engine;
#[cfg(feature = "guard")]
pub use proem_guard;
#[cfg(feature = "llm")]
pub use proem_llm;
#[cfg(feature = "risk")]
pub use proem_risk;
#[cfg(feature = "risk")]
pub use proem_runtime;
#[cfg(feature = "select")]
pub use proem_select;
#[cfg(feature = "llm")]
pub use schemars;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
