//! Any prompt of the book assembled, sent, read and checked, once or for each line of a file.
//!
//! [`setting::RunSetting`] is what all runs of one call share. It is made from [`options::RunOptions`], begun with the
//! records, asked as often as there are inputs, and ended.

pub mod agent;
pub mod batch;
pub mod course;
pub mod input;
mod journal;
pub mod line_versions;
pub mod options;
pub mod output;
pub mod prompt_choice;
mod rows;
pub mod setting;
pub mod settings_record;
