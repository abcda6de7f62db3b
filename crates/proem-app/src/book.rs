//! Books of prompts: their locks, the cases of their prompts, and how versions and models compare.

pub mod compare;
pub mod diff;
mod judging;
pub mod live;
pub mod lock;
pub mod test;
