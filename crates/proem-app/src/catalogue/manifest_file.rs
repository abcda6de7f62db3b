//! The catalogue's manifest as it is kept between runs, with the vectors of an embedding model.

use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_select::catalogue::manifest::MAX_MANIFEST_BYTES;
use proem_select::catalogue::{Catalogue, EmbeddingScope, Manifest, Sha256Hash, vectorise};

use crate::embedding::EmbeddingModel;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;

/// The stored manifest. An empty one, with the reason, if it can't be read.
pub fn read_manifest(project: &OpenProject) -> (Manifest, Option<String>) {
    let read = files::read_beneath(&project.places.cache, &manifest_path(project), MAX_MANIFEST_BYTES);
    let bytes = match read {
        Ok(None) => return (Manifest::default(), None),
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        Ok(Some(FileContent::Cut(_))) => {
            return (Manifest::default(), Some("the stored catalogue is too large and is rebuilt".into()));
        }
        Err(error) => return (Manifest::default(), Some(format!("the stored catalogue is rebuilt: {error}"))),
    };
    match Manifest::read(&String::from_utf8_lossy(&bytes)) {
        Ok(manifest) => (manifest, None),
        Err(error) => (Manifest::default(), Some(error.to_string())),
    }
}

/// The stored manifest, with the vectors of `model` that are missing if it is one at a server: those are
/// kept, so that it is asked once. Notes say what could not be read or kept.
///
/// # Errors
///
/// If the model can't be asked.
pub fn embedded_manifest(
    project: &OpenProject,
    catalogue: &Catalogue,
    model: &EmbeddingModel,
    notes: &mut Vec<Note>,
) -> Result<Manifest, proem_engine::Error> {
    let (mut manifest, note) = read_manifest(project);
    notes.extend(note.map(|words| Note::new(NoteKind::Catalogue, words)));
    if model.built_in().is_none() {
        let done = vectorise(&mut manifest, catalogue, model, EmbeddingScope::Missing, &mut |_, _| {})?;
        if (done.made > 0 || done.removed > 0)
            && let Err(error) = write_manifest(project, &manifest)
        {
            notes.push(Note::new(NoteKind::Catalogue, format!("the catalogue's vectors could not be stored: {error}")));
        }
    }
    Ok(manifest)
}

/// Stores the manifest in the user's cache folder.
///
/// # Errors
///
/// If the folder or the file can't be written.
pub fn write_manifest(project: &OpenProject, manifest: &Manifest) -> Result<(), Error> {
    let failed = |e: std::io::Error| {
        let shown = show::terminal_str(&project.places.cache.display().to_string()).into_string();
        Error::outside(format!("could not create `{shown}`: {e}"))
    };
    std::fs::create_dir_all(&project.places.cache).map_err(failed)?;
    Ok(files::replace_file(
        &project.places.cache,
        &manifest_path(project),
        manifest.write().as_bytes(),
        FileAccess::Private,
    )?)
}

/// Below the cache folder. One for each project's root.
fn manifest_path(project: &OpenProject) -> PathBuf {
    let root = project.root.as_deref().unwrap_or_else(|| Path::new(&project.key));
    PathBuf::from("catalogue").join(format!("{}.json", Sha256Hash::of(root.as_os_str().as_encoded_bytes()).short(32)))
}
