//! Books of prompts: their locks, and the cases of their prompts.

pub mod live;
pub mod lock;
pub mod test;
