//! Reads all files again and stores the manifest, with the vectors of what is new.

use proem_select::catalogue::manifest::Changes;
use proem_select::catalogue::{Catalogue, EmbeddingScope, EmbeddingTally, vectorise};

use super::{read_manifest, write_manifest};
use crate::embedding::EmbeddingSetup;
use crate::error::Error;
use crate::project::OpenProject;

/// What a refresh changed.
#[derive(Debug)]
pub struct CatalogueRefresh {
    /// What is new, what changed and what is gone.
    pub changes: Changes,
    /// What was embedded, or why nothing was.
    pub vectors: Result<EmbeddingTally, String>,
    /// How many definitions there are.
    pub entries: usize,
    /// Why the stored manifest was not used.
    pub unread: Option<String>,
    /// What there is to say about the embedding model.
    pub notes: Vec<String>,
}

/// Stores the manifest of a catalogue; `progress` is told how many texts of how many are embedded.
///
/// # Errors
///
/// If the configuration can't be read, or the manifest can't be written.
pub fn refresh(
    project: &OpenProject,
    catalogue: &Catalogue,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<CatalogueRefresh, Error> {
    let (model, _, notes) = EmbeddingSetup::new(&project.config, &project.places)?.calibrated();
    let (mut manifest, unread) = read_manifest(project);
    let changes = manifest.update(catalogue);
    let vectors = model.and_then(|model| {
        let made = vectorise(&mut manifest, catalogue, &model, EmbeddingScope::All, progress);
        made.map_err(|error| error.to_string())
    });
    write_manifest(project, &manifest)?;
    Ok(CatalogueRefresh { changes, vectors, entries: manifest.entries().len(), unread, notes })
}
