//! `proem catalogue refresh`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proem_engine::catalogue::manifest::{Changes, MAX_MANIFEST_BYTES};
use proem_engine::catalogue::{Embed, Hash, Manifest, Name, Vectorised, vectorise};
use proem_engine::embedding::Embedder;
use proem_guard::show;
use proem_runtime::files::{self, Access, Content};
use proem_text::json;
use serde_json::{Value, json};

use super::{counted, open};
use crate::args::CataloguePlace;
use crate::failure::Failure;
use crate::places::Places;
use crate::project::Project;
use crate::ui::{self, GREEN, RED, YELLOW, grouped, styled};

/// How long embedding may take without a word.
const SILENCE: Duration = Duration::from_secs(1);
/// How many names of a kind are listed.
const MAX_LISTED: usize = 20;

pub(super) fn run(place: &CataloguePlace, embedder: Option<&dyn Embedder>) -> Result<ExitCode, Failure> {
    let (project, places, loaded) = open(&place.root)?;
    let (mut manifest, note) = read_manifest(&project, &places);
    let changes = manifest.update(&loaded.catalogue);
    let vectors = match embedder {
        Some(embedder) => {
            let began = Instant::now();
            let mut progress = |done: usize, all: usize| {
                if began.elapsed() > SILENCE {
                    ui::aside(&format!("embedded {} of {} texts\n", grouped(done), grouped(all)));
                }
            };
            Some(vectorise(&mut manifest, &loaded.catalogue, embedder, Embed::All, &mut progress)?)
        }
        None => None,
    };
    write_manifest(&project, &places, &manifest)?;
    if place.json {
        ui::data(&format!("{}\n", json::pretty(&to_json(&changes, vectors.as_ref(), manifest.entries().len()))))?;
    } else {
        ui::listing(&listing(&changes))?;
    }
    note.iter().chain(&loaded.notes).for_each(|note| ui::note(note));
    let embedded = match vectors {
        Some(vectors) => format!("{} embedded", counted(vectors.made, "text")),
        None => "nothing was embedded, since no model is there".to_owned(),
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
pub(in crate::commands) fn read_manifest(project: &Project, places: &Places) -> (Manifest, Option<String>) {
    let read = files::read_beneath(&places.cache, &path(project), MAX_MANIFEST_BYTES);
    let bytes = match read {
        Ok(None) => return (Manifest::default(), None),
        Ok(Some(Content::Whole(bytes))) => bytes,
        Ok(Some(Content::Cut(_))) => {
            return (Manifest::default(), Some("the stored catalogue is too large; it is made anew".into()));
        }
        Err(error) => return (Manifest::default(), Some(format!("the stored catalogue is made anew: {error}"))),
    };
    match Manifest::read(&String::from_utf8_lossy(&bytes)) {
        Ok(manifest) => (manifest, None),
        Err(error) => (Manifest::default(), Some(error.to_string())),
    }
}

/// Stores the manifest in the user's cache folder.
pub(in crate::commands) fn write_manifest(
    project: &Project,
    places: &Places,
    manifest: &Manifest,
) -> Result<(), Failure> {
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

fn to_json(changes: &Changes, vectors: Option<&Vectorised>, entries: usize) -> Value {
    let names = |names: &[Name]| names.iter().map(Name::as_str).map(str::to_owned).collect::<Vec<_>>();
    let vectors = vectors.map(|vectors| {
        json!({ "made": vectors.made, "kept": vectors.kept, "silent": vectors.silent, "removed": vectors.removed })
    });
    json!({
        "entries": entries,
        "new": names(&changes.new),
        "changed": names(&changes.changed),
        "gone": names(&changes.gone),
        "vectors": vectors,
    })
}
