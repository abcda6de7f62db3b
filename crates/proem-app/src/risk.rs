//! How risky changes of a repository are: assessed, investigated by a model, recorded, and made again.
//!
//! The level is the code's. A model explains it or raises it, if there is a key for one. Nothing of the assessed
//! repository runs, and none of its files configures how it is judged.
//!
//! [`options::RiskOptions`] say what is meant. [`assessing::AssessedRepository`] finds the changes and puts them before
//! their history. [`setting::RiskSetting`] is what all investigations share, and makes reports of them. [`agent`] makes
//! recorded ones anew or goes on with them, and [`feedback`] counts what persons say of them.

pub mod agent;
pub mod assessing;
mod change_versions;
pub mod feedback;
pub mod grounds;
pub mod investigating;
mod investigation_settings;
pub mod options;
mod prompts;
mod recording;
pub mod setting;
