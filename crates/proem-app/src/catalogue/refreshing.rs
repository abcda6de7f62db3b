//! Reads all files again and stores the manifest, with the vectors of what is new.

use proem_select::catalogue::manifest::Changes;
use proem_select::catalogue::{Catalogue, EmbeddingScope, EmbeddingTally, vectorise};

use super::{read_manifest, write_manifest};
use crate::embedding::EmbeddingSetup;
use crate::error::Error;
use crate::project::OpenProject;

/// The changes of a refresh.
#[derive(Debug)]
pub struct CatalogueRefresh {
    /// The new, changed and removed entries.
    pub changes: Changes,
    /// The embedding tally, or the reason that there is none.
    pub vectors: Result<EmbeddingTally, String>,
    /// How many definitions there are.
    pub entries: usize,
    /// Why the stored manifest was not used.
    pub unread: Option<String>,
    /// Notes on the embedding model.
    pub notes: Vec<String>,
}

/// Stores the manifest of a catalogue. `progress` is told how many texts of how many are embedded.
///
/// # Errors
///
/// If the configuration is unreadable, or the manifest can't be written.
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
