//! Who receives what leaves the machine: said once for each endpoint, remembered in the user's state folder.

use std::collections::BTreeSet;
use std::path::Path;

use proem_guard::show;
use proem_llm::endpoint::Endpoint;
use proem_runtime::files::{self, FileAccess, FileContent};

use crate::error::Error;
use crate::message::Note;
use crate::places::Places;

/// The endpoints of which it was said, one a line.
const FILE: &str = "disclosed";

/// The most bytes of that file that are read; whoever has more of them is told again.
const MAX_BYTES: usize = 64 * 1024;

/// How much a person wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// What wasn't said before.
    Once,
    /// Everything, also what was.
    Always,
}

/// What there is to say before `contents` go to `endpoint`; nothing if it was said before.
///
/// # Errors
///
/// If the file can't be written that remembers it: nothing leaves before that is clear.
pub fn disclosure(
    places: &Places,
    endpoint: &Endpoint,
    contents: &[String],
    telling: Telling,
) -> Result<Option<Note>, Error> {
    let line = format!("{} {}", endpoint.name, endpoint.base_url);
    let mut known = read(places);
    let is_new = known.insert(line);
    if is_new {
        let text: String = known.iter().map(|line| format!("{line}\n")).collect();
        std::fs::create_dir_all(&places.state).map_err(|error| {
            let folder = show::terminal_str(&places.state.display().to_string()).into_string();
            Error::outside(format!("could not create `{folder}`: {error}"))
        })?;
        files::replace(&places.state, Path::new(FILE), text.as_bytes(), FileAccess::Private)?;
    }
    if !is_new && telling == Telling::Once {
        return Ok(None);
    }
    let name = show::terminal_str(&endpoint.name);
    let url = show::terminal_str(&endpoint.base_url);
    let place = if endpoint.is_loopback() { "on this machine" } else { "outside of this machine" };
    let once = if is_new { "; this is said once for each provider" } else { "" };
    Ok(Some(format!("`{name}` ({url}), {place}, receives {}{once}", contents.join(", ")).into()))
}

fn read(places: &Places) -> BTreeSet<String> {
    // What can't be read was not said.
    let bytes = match files::read_beneath(&places.state, Path::new(FILE), MAX_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        _ => Vec::new(),
    };
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}
