//! `proem catalogue refresh`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proem_guard::show;
use proem_runtime::files::{self, Access, Content};
use proem_select::catalogue::manifest::{Changes, MAX_MANIFEST_BYTES};
use proem_select::catalogue::{Catalogue, Embed, Hash, Manifest, Name, Vectorised, vectorise};
use proem_text::json;
use serde_json::{Value, json};

use super::{counted, open};
use crate::args::CataloguePlace;
use crate::embedding::{Configured, EmbeddingModel};
use crate::failure::Failure;
use crate::places::Places;
use crate::project::Project;
use crate::ui::{self, GREEN, RED, YELLOW, grouped, styled};

/// How long embedding may take without a word.
const SILENCE: Duration = Duration::from_secs(1);
/// How many names of a kind are listed.
const MAX_LISTED: usize = 20;

pub(super) fn run(place: &CataloguePlace) -> Result<ExitCode, Failure> {
    let (project, places, loaded) = open(&place.root)?;
    let (model, _, notes) = Configured::new(&project.config, &places)?.calibrated();
    let (mut manifest, note) = read_manifest(&project, &places);
    let changes = manifest.update(&loaded.catalogue);
    let began = Instant::now();
    let mut progress = |done: usize, all: usize| {
        if began.elapsed() > SILENCE {
            ui::aside(&format!("embedded {} of {} texts\n", grouped(done), grouped(all)));
        }
    };
    let vectors = model.and_then(|model| {
        let made = vectorise(&mut manifest, &loaded.catalogue, &model, Embed::All, &mut progress);
        made.map_err(|error| error.to_string())
    });
    write_manifest(&project, &places, &manifest)?;
    if place.json {
        ui::document(&json::pretty(&to_json(&changes, &vectors, manifest.entries().len())))?;
    } else {
        ui::listing(&listing(&changes))?;
    }
    note.iter().chain(&loaded.notes).chain(&notes).for_each(|note| ui::note(note));
    let embedded = match vectors {
        Ok(vectors) => format!("{} embedded", counted(vectors.made, "text")),
        Err(reason) => {
            ui::note(&format!("degraded: {reason}"));
            "nothing was embedded".to_owned()
        }
    };
    ui::aside(&format!(
        "{}: {} new, {} changed, {} gone; {embedded}\n",
        counted(manifest.entries().len(), "definition"),
        grouped(changes.new.len()),
        grouped(changes.changed.len()),
        grouped(changes.gone.len())
    ));
    Ok(ExitCode::SUCCESS)
}

/// The stored manifest; an empty one, with the reason, if it can't be read.
fn read_manifest(project: &Project, places: &Places) -> (Manifest, Option<String>) {
    let read = files::read_beneath(&places.cache, &path(project), MAX_MANIFEST_BYTES);
    let bytes = match read {
        Ok(None) => return (Manifest::default(), None),
        Ok(Some(Content::Whole(bytes))) => bytes,
        Ok(Some(Content::Cut(_))) => {
            return (Manifest::default(), Some("the stored catalogue is too large; it is rebuilt".into()));
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
pub(in crate::commands) fn embedded_manifest(
    project: &Project,
    places: &Places,
    catalogue: &Catalogue,
    model: &EmbeddingModel,
    notes: &mut Vec<String>,
) -> Result<Manifest, proem_engine::Error> {
    let (mut manifest, note) = read_manifest(project, places);
    notes.extend(note);
    if model.built_in().is_none() {
        let done = vectorise(&mut manifest, catalogue, model, Embed::Missing, &mut |_, _| {})?;
        if (done.made > 0 || done.removed > 0)
            && let Err(error) = write_manifest(project, places, &manifest)
        {
            notes.push(format!("the catalogue's vectors were not kept: {error}"));
        }
    }
    Ok(manifest)
}

/// Stores the manifest in the user's cache folder.
fn write_manifest(project: &Project, places: &Places, manifest: &Manifest) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        let shown = show::terminal_str(&places.cache.display().to_string()).into_string();
        Failure::outside(format!("could not create `{shown}`: {e}"))
    };
    std::fs::create_dir_all(&places.cache).map_err(failed)?;
    Ok(files::replace(&places.cache, &path(project), manifest.write().as_bytes(), Access::Private)?)
}

/// Below the cache folder; one for each project's root.
fn path(project: &Project) -> PathBuf {
    let root = project.root.as_deref().unwrap_or_else(|| Path::new(&project.key));
    PathBuf::from("catalogue").join(format!("{}.json", Hash::of(root.as_os_str().as_encoded_bytes()).short(32)))
}

fn listing(changes: &Changes) -> String {
    let mut out = String::new();
    for (word, style, names) in
        [("new", GREEN, &changes.new), ("changed", YELLOW, &changes.changed), ("gone", RED, &changes.gone)]
    {
        for name in names.iter().take(MAX_LISTED) {
            out.push_str(&format!("{} {name}\n", styled(style, &format!("{word:7}"))));
        }
        let more = names.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            out.push_str(&format!("{} and {} more\n", styled(style, &format!("{word:7}")), grouped(more)));
        }
    }
    out
}

/// With `degraded` where nothing could be embedded.
fn to_json(changes: &Changes, vectors: &Result<Vectorised, String>, entries: usize) -> Value {
    let names = |names: &[Name]| names.iter().map(Name::as_str).map(str::to_owned).collect::<Vec<_>>();
    let made = vectors.as_ref().ok().map(|vectors| {
        json!({ "made": vectors.made, "kept": vectors.kept, "silent": vectors.silent, "removed": vectors.removed })
    });
    let mut out = json!({
        "entries": entries,
        "new": names(&changes.new),
        "changed": names(&changes.changed),
        "gone": names(&changes.gone),
        "vectors": made,
    });
    if let (Err(reason), Some(fields)) = (vectors, out.as_object_mut()) {
        fields.insert("degraded".to_owned(), reason.as_str().into());
    }
    out
}
