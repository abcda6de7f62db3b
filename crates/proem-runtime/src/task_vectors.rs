//! The vectors of the tasks that were asked last, so that asking again embeds nothing.
//!
//! Invariants: no word of a task is stored, only hashes. An entry is of one model, and what comes back has the bits of
//! what was put. At most [`MAX_TASKS`] are kept, and the least recently used goes first. It is a cache: a file that
//! can't be read is made anew, and of two processes that save at the same time the later one's entries stay.

mod vector_file;

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use proem_engine::Error as EngineError;
use proem_select::catalogue::Sha256Hash;
use proem_select::embedding::{Embedder, ModelId, Vector, embed_texts};
use proem_text::normalise::normalise_text;

use crate::Error;
use crate::files::{self, FileAccess, FileContent};

/// The most tasks that are kept.
pub const MAX_TASKS: usize = 100;
/// The most parts of one task: the whole and some of its sentences.
pub const MAX_PARTS: usize = 16;
/// The most coordinates of one vector.
pub const MAX_DIMENSION: usize = 4096;
/// The largest file that is read, in bytes: 100 tasks of 9 parts in 4,096 dimensions have 30 MB.
const MAX_FILE_BYTES: usize = 32 * 1024 * 1024;

/// The vectors of the last tasks.
#[derive(Debug, Clone)]
pub struct TaskVectors {
    path: PathBuf,
    tasks: BTreeMap<Sha256Hash, TaskVectorEntry>,
    changed: bool,
}

/// One task's vectors.
#[derive(Debug, Clone, PartialEq)]
struct TaskVectorEntry {
    /// The greater, the later it was used.
    used: u64,
    /// The hash of the texts that were embedded: the same task may be cut in another way.
    texts: Sha256Hash,
    /// The coordinates of each text's vector. `None` for one that says nothing to the model.
    parts: Vec<Option<Vec<f32>>>,
}

impl TaskVectors {
    /// Reads the file at `path`; without one there is nothing to begin with. An unreadable file is rebuilt, and a note
    /// gives the reason.
    #[must_use]
    pub fn open(path: PathBuf) -> (Self, Option<String>) {
        let anew = |why: &str| Some(format!("the stored task vectors {why} and are computed again"));
        let (tasks, note) = match files::read_regular(&path, MAX_FILE_BYTES) {
            Ok(None) => (BTreeMap::new(), None),
            Ok(Some(FileContent::Cut(_))) => (BTreeMap::new(), anew("are too many")),
            Ok(Some(FileContent::Whole(bytes))) => match vector_file::read_task_vectors(&bytes) {
                Ok(tasks) => (tasks, None),
                Err(why) => (BTreeMap::new(), anew(why)),
            },
            Err(error) => (BTreeMap::new(), Some(format!("the stored task vectors are not used: {error}"))),
        };
        (Self { path, tasks, changed: false }, note)
    }

    /// How many tasks are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no task is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The vectors of `texts`, which `task` was cut into, if this model made them before. White
    /// space and compatibility forms (NFKC) make no other task of the same words.
    pub fn get(&mut self, model: &ModelId, task: &str, texts: &[&str]) -> Option<Vec<Option<Vector>>> {
        let key = task_vector_key(model, task);
        let latest = self.latest();
        let kept = self.tasks.get_mut(&key)?;
        if kept.parts.len() != texts.len() || kept.texts != texts_digest(texts) {
            return None;
        }
        let vectors = vectors_of_coordinates(model, &kept.parts)?;
        if kept.used < latest {
            kept.used = latest.saturating_add(1);
            self.changed = true;
        }
        Some(vectors)
    }

    /// Keeps the vectors of a task's texts. Vectors that would not come back unchanged are not kept: those of another
    /// model or of several dimensions, or another number of them than of texts.
    pub fn put(&mut self, model: &ModelId, task: &str, texts: &[&str], vectors: &[Option<Vector>]) {
        let coordinates = |vector: &Option<Vector>| vector.as_ref().map(|vector| vector.values().to_vec());
        let parts: Vec<Option<Vec<f32>>> = vectors.iter().map(coordinates).collect();
        if texts.len() != vectors.len() || !keepable(&parts) {
            return;
        }
        if self::vectors_of_coordinates(model, &parts).is_none_or(|back| back != vectors) {
            return;
        }
        let used = self.latest().saturating_add(1);
        self.tasks.insert(task_vector_key(model, task), TaskVectorEntry { used, texts: texts_digest(texts), parts });
        self.changed = true;
        while self.tasks.len() > MAX_TASKS {
            let oldest = self.tasks.iter().min_by_key(|(key, kept)| (kept.used, **key)).map(|(key, _)| *key);
            let Some(oldest) = oldest else { break };
            self.tasks.remove(&oldest);
        }
    }

    /// The vectors of a task's texts, and how often the embedder was called for them: 0 or 1.
    ///
    /// # Errors
    ///
    /// The embedder's error, or [`proem_engine::ErrorKind::InvalidVector`] if its answer is of no use. Nothing is kept
    /// then.
    pub fn embed_task(
        &mut self,
        embedder: &dyn Embedder,
        query_texts: &[&str],
        task: &str,
    ) -> Result<(Vec<Option<Vector>>, usize), EngineError> {
        if query_texts.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let model = embedder.model();
        if let Some(vectors) = self.get(model, task, query_texts) {
            return Ok((vectors, 0));
        }
        let vectors = embed_texts(embedder, query_texts)?;
        self.put(model, task, query_texts, &vectors);
        Ok((vectors, 1))
    }

    /// Writes the file, readable by the user alone, if anything differs from what was read. Missing
    /// folders are created.
    ///
    /// # Errors
    ///
    /// [`Error::Link`] or [`Error::NotRegular`] if something else is in its place. [`Error::Io`], [`Error::NotBeneath`]
    /// or [`Error::Random`].
    pub fn save(&self) -> Result<(), Error> {
        if !self.changed {
            return Ok(());
        }
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(Error::NotBeneath { path: self.path.clone() });
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::io("create", folder))?;
        files::replace_file(
            folder,
            Path::new(name),
            vector_file::write_task_vectors(&self.tasks).as_bytes(),
            FileAccess::Private,
        )
    }

    fn latest(&self) -> u64 {
        self.tasks.values().map(|kept| kept.used).max().unwrap_or(0)
    }
}

fn task_vector_key(model: &ModelId, task: &str) -> Sha256Hash {
    Sha256Hash::of(format!("{model}\0{}", normalise_text(task).text).as_bytes())
}

/// One text's end is not another's beginning: each has its length before it.
fn texts_digest(texts: &[&str]) -> Sha256Hash {
    let all: String = texts.iter().map(|text| format!("{}:{text}", text.len())).collect();
    Sha256Hash::of(all.as_bytes())
}

/// Whether a task's coordinates are of a size that is kept, and of one dimension.
fn keepable(parts: &[Option<Vec<f32>>]) -> bool {
    let mut sizes = parts.iter().flatten().map(Vec::len);
    let first = sizes.next();
    !parts.is_empty()
        && parts.len() <= MAX_PARTS
        && first.is_none_or(|size| (1..=MAX_DIMENSION).contains(&size))
        && sizes.all(|size| Some(size) == first)
}

/// The vectors with these coordinates. `None` if some aren't a vector's.
///
/// Bringing a unit vector to unit length leaves its bits alone, but for some of few dimensions. [`TaskVectors::put`]
/// sees to it that those are never kept.
fn vectors_of_coordinates(model: &ModelId, parts: &[Option<Vec<f32>>]) -> Option<Vec<Option<Vector>>> {
    let vector = |part: &Option<Vec<f32>>| match part {
        Some(values) => Vector::new(model, values.clone()).ok().map(Some),
        None => Some(None),
    };
    parts.iter().map(vector).collect()
}

#[cfg(test)]
mod tests;
