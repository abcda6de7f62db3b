//! Whether signals may go to models: a person says so once, and the answer is in that person's configuration.

use std::path::Path;

use proem_runtime::files::{self, FileAccess};
use proem_triage::pipeline::PipelineModel;

use crate::agents::access::ModelAccess;
use crate::calling::WantedModel;
use crate::config::Config;
use crate::error::Error;
use crate::places::Places;
use crate::project::OpenProject;

/// The most bytes of a configuration.
const MAX_BYTES: usize = 1 << 20;
/// The table that the answer is in.
const TABLE: &str = "[triage]";

/// A destination of signals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDestination {
    /// The role: `small` or `large`.
    pub role: &'static str,
    /// As the configuration names it, with its provider.
    pub model: String,
    /// The endpoint's name.
    pub endpoint: String,
    /// The base URL that requests go to.
    pub address: String,
}

/// The destinations of signals, the small model first.
///
/// # Errors
///
/// If a role represents no model that is known.
pub fn model_destinations(root: &Path, places: &Places) -> Result<Vec<ModelDestination>, Error> {
    let project = OpenProject::without_book(root, places)?;
    let of = |role: PipelineModel| {
        let wanted = WantedModel { model: Some(role.as_str()), ..WantedModel::default() };
        let (asked, _) = ModelAccess::located(&wanted, &project)?;
        let (model, endpoint) = (asked.model.name, asked.endpoint.name);
        Ok(ModelDestination { role: role.as_str(), model, endpoint, address: asked.endpoint.base_url })
    };
    [PipelineModel::Small, PipelineModel::Large].into_iter().map(of).collect()
}

/// A person's consent to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelConsent {
    /// They may be asked.
    Given,
    /// They may not.
    Refused,
}

/// Keeps what a person said in that person's own configuration; whatever else is there stays as it is.
///
/// # Errors
///
/// If the configuration can't be read or written.
pub fn keep_consent(places: &Places, consent: ModelConsent) -> Result<(), Error> {
    let path = places.config_file();
    let text = match files::read_text(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::invalid(format!("could not read `{}`: {error}", path.display()))),
    };
    let is_given = consent == ModelConsent::Given;
    let written = with_answer(&text, is_given);
    // Text that can't be read afterwards is not written.
    let read = Config::parse(&path.display().to_string(), &written)?;
    if read.triage.models != Some(is_given) {
        return Err(Error::invalid(
            "the answer has no place in your configuration; set `triage.models` there yourself",
        ));
    }
    let (folder, name) =
        path.parent().zip(path.file_name()).ok_or_else(|| Error::invalid("there is no configuration"))?;
    std::fs::create_dir_all(folder).map_err(|error| Error::outside(format!("`{}`: {error}", folder.display())))?;
    Ok(files::replace_file(folder, Path::new(name), written.as_bytes(), FileAccess::Shared)?)
}

/// A configuration that says so in its own table, with all else as it was.
fn with_answer(text: &str, is_given: bool) -> String {
    let answer = format!("models = {is_given}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(table) = lines.iter().position(|line| line.trim() == TABLE) else {
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{end}{gap}{TABLE}\n{answer}\n");
    };
    let rest = lines.iter().skip(table.saturating_add(1));
    let own = rest.take_while(|line| !line.trim_start().starts_with('['));
    let is_answer = |line: &&String| line.split('=').next().is_some_and(|key| key.trim() == "models");
    match own.clone().position(|line| is_answer(&line)) {
        Some(place) => {
            let at = table.saturating_add(1).saturating_add(place);
            if let Some(line) = lines.get_mut(at) {
                *line = answer;
            }
        }
        None => lines.insert(table.saturating_add(1), answer),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stands_in_its_own_table_and_all_else_stays() {
        for (text, is_given, expected) in [
            ("", true, "[triage]\nmodels = true\n"),
            ("model = \"x\"", false, "model = \"x\"\n\n[triage]\nmodels = false\n"),
            ("[triage]\nmodels = false # no\n[git]\n", true, "[triage]\nmodels = true\n[git]\n"),
            (
                "[triage]\nretries = 1\n\n[a]\nmodels = 3\n",
                true,
                "[triage]\nmodels = true\nretries = 1\n\n[a]\nmodels = 3\n",
            ),
        ] {
            assert_eq!(with_answer(text, is_given), expected, "{text:?}");
        }
    }
}
