//! The project that a server is about, and how its failures are worded.

use std::fmt;
use std::path::PathBuf;

use proem_app::Error;
use proem_app::places::Places;

/// The project that a server is about.
#[derive(Clone)]
pub struct McpSetting {
    /// A folder in the project.
    pub root: PathBuf,
    /// The user's folders.
    pub places: Places,
    /// Words a failure, with its remedy in the words of the program that serves.
    pub error_words: fn(&Error) -> String,
}

impl fmt::Debug for McpSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, places, error_words: _ } = self;
        f.debug_struct("McpSetting").field("root", root).field("places", places).finish_non_exhaustive()
    }
}
