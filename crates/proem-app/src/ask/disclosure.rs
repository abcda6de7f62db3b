//! The disclosure of the receiver before data leaves the machine: shown once for each endpoint, remembered in the
//! user's state folder.

use std::collections::BTreeSet;
use std::path::Path;

use proem_guard::show;
use proem_llm::endpoint::Endpoint;
use proem_runtime::files::{self, FileAccess, FileContent};

use crate::message::{Note, NoteKind};
use crate::places::Places;

/// The endpoints of which it was said, one a line.
const FILE: &str = "disclosed";

/// The most bytes of that file that are read; whoever has more of them is told again.
const MAX_BYTES: usize = 64 * 1024;

/// How much a person wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// Show it once.
    Once,
    /// Everything, also what was.
    Always,
}

/// The disclosure to show before `contents` go to `endpoint`. `None` if it was shown before. If that can't be
/// remembered, it is shown each time.
#[must_use]
pub fn disclosure(places: &Places, endpoint: &Endpoint, contents: &[String], telling: Telling) -> Option<Note> {
    let line = format!("{} {}", endpoint.name, endpoint.base_url);
    let mut known = known_endpoints(places);
    let is_new = known.insert(line);
    let kept = if is_new { remember_endpoints(places, &known) } else { Ok(()) };
    if !is_new && telling == Telling::Once {
        return None;
    }
    let name = show::terminal_str(&endpoint.name);
    let url = show::terminal_str(&endpoint.base_url);
    let place = if endpoint.is_loopback() { "on this machine" } else { "outside of this machine" };
    let once = match kept {
        Err(why) => format!("; this is said each time, since it can't be remembered: {why}"),
        Ok(()) if is_new => "; this is said once for each provider".to_owned(),
        Ok(()) => String::new(),
    };
    let words = format!("`{name}` ({url}), {place}, receives {}{once}", contents.join(", "));
    Some(Note::new(NoteKind::Privacy, words))
}

/// Keeps of which endpoints it was said.
fn remember_endpoints(places: &Places, known: &BTreeSet<String>) -> Result<(), String> {
    let text: String = known.iter().map(|line| format!("{line}\n")).collect();
    std::fs::create_dir_all(&places.state).map_err(|error| {
        let folder = show::terminal_str(&places.state.display().to_string()).into_string();
        format!("could not create `{folder}`: {error}")
    })?;
    files::replace_file(&places.state, Path::new(FILE), text.as_bytes(), FileAccess::Private)
        .map_err(|error| error.to_string())
}

fn known_endpoints(places: &Places) -> BTreeSet<String> {
    // An unreadable file counts as not shown.
    let bytes = match files::read_beneath(&places.state, Path::new(FILE), MAX_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        _ => Vec::new(),
    };
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}
