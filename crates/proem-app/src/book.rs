//! Books of prompts: what is imported into them, their locks, the cases of their prompts, and how versions and models compare.

pub mod batch;
pub mod compare;
pub mod diff;
pub mod experiments;
pub mod import;
pub mod improve;
mod interrupted_answers;
pub mod journal;
pub mod judging;
pub mod live;
pub mod lock;
mod manifest;
pub mod promotion;
pub mod proposals;
pub mod proposing;
pub mod repeats;
pub mod test;
pub mod version_figures;
