#![doc = include_str!("../README.md")]
//!
//! Keeps untrusted text untrusted: the type, the readings, the scanners, containment and showing.
//!
//! - [`untrusted`]: the type. Text doesn't get out of it but by the two doors below.
//! - [`label_tree`]: values of which each leaf has a label of its own.
//! - [`view`]: what a model reads instead of the original, and every other way to read it.
//! - [`guard`]: looks for attacks in all of these readings. [`finding`]: what it finds. [`verdict`]: what is to become
//!   of the text. [`mod@cut`]: what is left without the attack.
//! - [`mod@check`]: what an action may say and name. [`credential`]: what no screen shows.
//! - [`mod@contain`]: the door into a prompt.
//! - [`show`]: the door onto a screen.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::arithmetic_side_effects)]

extern crate alloc;

pub mod calibrate;
pub mod check;
pub mod contain;
pub mod credential;
mod error;
pub mod finding;
pub mod guard;
pub mod label_tree;
pub mod lexicon;
pub mod removal;
pub mod scan;
pub mod scanners;
pub mod score;
pub mod sentence_scorer;
pub mod show;
pub mod source;
pub mod untrusted;
pub mod verdict;
pub mod view;

pub use check::{ActionCheck, Canary, check_action};
pub use contain::{
    ContainedText, ContainmentPart, InstallationKey, Neutralisation, SourceRange, Tag, contain, contain_tree,
    without_ids,
};
pub use error::RuleError;
pub use finding::{Finding, FindingKind, Severity};
pub use guard::{ConceptReason, FindingReasons, Guard, GuardError, WindowReason};
pub use label_tree::{
    LabelList, LabelMap, LabelScalar, LabelTree, TreeDifference, TreeError, TreeFault, TreeName, TreePlace,
    tree_differences,
};
pub use removal::{Cut, cut_attacks};
pub use scan::{Hit, Scan, ScanError, Scanner, Sight, UnreadReason, UnreadSpan};
pub use scanners::ToolVocabulary;
pub use show::ScreenText;
pub use source::LanguageFamily;
pub use untrusted::{Measurement, Untrusted};
pub use verdict::{Bar, Policy, PolicyError, Verdict};
pub use view::{CleanView, Reading, ReadingStep, clean_view};
