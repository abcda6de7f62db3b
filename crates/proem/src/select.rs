//! The tools that a task needs.

use std::collections::BTreeMap;
use std::fmt;

use proem_embed::StaticModel;
use proem_select::catalogue::{Approvals, Catalogue, CatalogueName, parse_lines};
use proem_select::embedding::Embedder as _;
use proem_select::select::{CatalogueIndex, Selector, TaskEmbedding};

use serde::{Deserialize, Serialize};

use crate::Error;

/// The tools that an agent has, ready to be ranked for many tasks.
///
/// ```
/// let tools = proem::Toolbox::of_lines(
///     r#"{"name": "deploy", "description": "Release a build to the servers"}
/// {"name": "translate", "description": "Translate a text into another language"}"#,
/// )?;
/// let ranked = tools.rank("put the new version into production")?;
/// assert_eq!(ranked[0].name, "deploy");
/// # Ok::<(), proem::Error>(())
/// ```
pub struct Toolbox {
    catalogue: Catalogue,
    selector: Selector,
    index: CatalogueIndex,
    model: StaticModel<'static>,
    /// The names as they were given, by the names in the catalogue, whose letters are fewer.
    given: BTreeMap<String, String>,
}

/// A tool with how likely a task needs it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedTool {
    /// Its name as it was given. Of several that differ only in characters that no provider takes, the name by which the
    /// catalogue tells them apart.
    pub name: String,
    /// How likely the task needs it: 0 to 1, calibrated.
    pub probability: f32,
    /// Whether that reaches the calibrated threshold, below which a tool is better left out.
    pub fits: bool,
}

impl Toolbox {
    /// Reads tools as JSON lines: `{"name", "description", "parameters"?, "examples"?}`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with every line that is no tool.
    pub fn of_lines(text: &str) -> Result<Self, Error> {
        let catalogue = Catalogue::new(parse_lines("tools", text), &Approvals::default());
        let problems: Vec<String> = catalogue.problems().iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(Error::all(crate::ErrorKind::Invalid, problems));
        }
        let (selector, model) = (Selector::shipped()?, StaticModel::built_in().map_err(proem_engine::Error::from)?);
        let mut index = CatalogueIndex::new(catalogue.entries(), &Selector::shipped_usage()?, &selector);
        index.embed(catalogue.entries(), &model, None)?;
        Ok(Self { catalogue, selector, index, model, given: given_names(text) })
    }

    /// All tools, the likeliest first. For a task that needs none of them, none fits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Outside`](crate::ErrorKind::Outside) if the embedding model inside the program is damaged.
    pub fn rank(&self, task: &str) -> Result<Vec<RankedTool>, Error> {
        let query = self.selector.query(task);
        let vectors = self.selector.embed(&query, &self.model)?;
        let meant = TaskEmbedding { model: self.model.model(), vectors: &vectors, pieces: self.model.pieces() };
        let entries = self.catalogue.entries();
        let ranking = self.selector.rank(entries, &self.index, &query, Some(&meant))?;
        let tool = |ranked: &proem_select::select::RankedEntry| {
            let entry = entries.get(ranked.entry)?;
            let named = entry.name().as_str();
            let given = self.given.get(named).filter(|_| !entry.collided());
            let name = given.map_or(named, String::as_str).to_owned();
            let probability = ranked.probability;
            Some(RankedTool { name, probability, fits: probability >= ranking.threshold })
        };
        Ok(ranking.ranked.iter().filter_map(tool).collect())
    }
}

#[derive(Deserialize)]
struct GivenTool {
    name: String,
}

/// The names on lines, by those that the catalogue makes of them.
fn given_names(text: &str) -> BTreeMap<String, String> {
    let tools = text.lines().filter_map(|line| serde_json::from_str::<GivenTool>(line).ok());
    tools.map(|GivenTool { name }| (CatalogueName::joined(None, &name).as_str().to_owned(), name)).collect()
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("tools", &self.catalogue.entries().len()).finish_non_exhaustive()
    }
}
