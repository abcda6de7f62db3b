//! Names for a shell that completes a command: prompts, runs, models, providers.
//!
//! Invariants: completion starts no process, connects to nothing and writes nothing, so that pressing a key is harmless
//! in anybody's folder. It finds the repository by reading, as git would. A name is one of `[A-Za-z0-9._/@-]` only,
//! which no shell takes for anything else. It comes from layers that count: the shipped one, the user's, and those
//! parts of the project's that this user trusted by hash. Trust while a file is edited needs git, so it gives no names.
//! An unreadable file gives no names either: a key press is no place for an error.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use proem_agents::book::embedded_book;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::origin::Origin;
use proem_engine::providers::Providers;
use proem_runtime::files::{FileContent, read_beneath, read_regular};
use proem_runtime::{Environment, installation_key};
use proem_store::query::{RunScope, RunsWanted};
use proem_store::record::Project as Owner;
use proem_store::{Error as StoreError, Store, StoreAccess, StoreOptions};

use crate::calling;
use crate::config::Config;
use crate::places::Places;
use crate::project::{BOOK, CONFIG, read_book};
use crate::records::{actor, blocking};
use crate::triage::signals::short_signal_id;
use crate::trust::{MAX_FILE_BYTES, RepositoryTrust, TrustStore, sha256_hex};

/// The most runs that are named.
const RUNS: u32 = 50;
/// The most signals that are named.
const SIGNALS: u64 = 1_000;
/// The most bytes of a file that says where something of git's is.
const POINTER: usize = 4096;

/// A folder's project, as far as it is found without asking anybody.
#[derive(Debug)]
pub struct NamePlace<'p> {
    places: &'p Places,
    root: PathBuf,
    key: String,
    trust: RepositoryTrust,
}

impl<'p> NamePlace<'p> {
    /// The project around a folder. `None` if it can't be read.
    #[must_use]
    pub fn find(folder: &Path, places: &'p Places) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let (root, common) = work_tree_folders(&folder).unwrap_or_else(|| (folder.clone(), folder));
        let key = common.to_string_lossy().into_owned();
        let trust = TrustStore::new(places.state.clone()).hashed(&key).ok()?;
        Some(Self { places, root, key, trust })
    }

    /// The prompts of the book: with `@` in `begun`, their versions.
    #[must_use]
    pub fn prompts(&self, begun: &str) -> Vec<String> {
        let mut layers = vec![embedded_book()];
        layers.extend(read_book(&self.places.book(), Origin::User).ok().flatten());
        if let Ok(Some(mut own)) = read_book(&self.root.join(BOOK), Origin::Project) {
            own.files.retain(|path, text| self.covers(&format!("{BOOK}/{path}"), text.as_str().as_bytes()));
            layers.push(own);
        }
        // A layer that is unreadable hides no other.
        let names = layers.into_iter().filter_map(|layer| Book::new(vec![layer]).ok());
        let all: BTreeSet<String> = match begun.split_once('@') {
            None => names.flat_map(|book| book.prompts()).collect(),
            Some((prompt, _)) => names
                .flat_map(|book| book.versions().unwrap_or_default())
                .filter(|version| version.prompt == prompt)
                .map(|version| format!("{}@{}", version.prompt, version.version))
                .collect(),
        };
        shell_safe_names(all)
    }

    /// The last runs of the project, the newest first, and the words that represent them.
    #[must_use]
    pub fn runs(&self) -> Vec<String> {
        let wanted = RunsWanted {
            project: Some(Owner(self.key.clone())),
            listed: RunScope::Any,
            limit: Some(RUNS),
            ..RunsWanted::default()
        };
        let rows = self.recorded(async |store| store.runs(&wanted).await);
        let ids = rows.iter().map(|row| row.id.short().to_owned());
        shell_safe_names(ids.chain((!rows.is_empty()).then(|| "last".to_owned())))
    }

    /// The short ids of signals.
    #[must_use]
    pub fn signals(&self) -> Vec<String> {
        let owner = Owner(self.key.clone());
        shell_safe_names(
            self.recorded(async |store| store.signals(&owner, 0, SIGNALS).await)
                .iter()
                .map(|row| short_signal_id(&row.id)),
        )
    }

    /// The answer of the records. Nothing if there are none, or they are unreadable.
    fn recorded<T>(&self, ask: impl AsyncFnOnce(&Store) -> Result<Vec<T>, StoreError>) -> Vec<T> {
        // A database is connected to only for a command.
        if Config::of_user(&self.places.config_file()).map_or(true, |config| config.store.url.is_some()) {
            return Vec::new();
        }
        let path = self.places.records();
        let key = self.places.key();
        // Looking makes neither.
        if !path.exists() || !key.exists() {
            return Vec::new();
        }
        let Ok(key) = installation_key(&key) else { return Vec::new() };
        let actor = actor(&Environment::inherited(), self.places.channel);
        let (project, access) = (Owner(self.key.clone()), StoreAccess::Read);
        let options = StoreOptions { path, key, access, project, actor, zone: TimeZone::UTC };
        let rows = blocking(async {
            let store = Store::open(options).await?.store;
            let rows = ask(&store).await;
            store.close().await;
            Ok::<_, crate::Error>(rows?)
        });
        rows.unwrap_or_default()
    }

    /// Roles and models.
    #[must_use]
    pub fn models(&self) -> Vec<String> {
        let mut all = BTreeSet::from(["small".to_owned(), "large".to_owned()]);
        if let Ok(providers) = Providers::load() {
            all.extend(providers.models().map(|model| model.name.clone()));
        }
        for config in self.configs() {
            all.extend(config.roles.keys().cloned());
            for (name, provider) in &config.providers {
                all.extend(provider.models.keys().map(|model| format!("{name}/{model}")));
            }
        }
        shell_safe_names(all)
    }

    /// The names of the configured providers that begin as the word does.
    #[must_use]
    pub fn providers(&self) -> Vec<String> {
        let mut all: BTreeSet<String> = calling::built_in().map(str::to_owned).collect();
        all.extend(self.configs().iter().flat_map(|config| config.providers.keys().cloned()));
        shell_safe_names(all)
    }

    /// The configurations that count.
    fn configs(&self) -> Vec<Config> {
        let mut configs: Vec<Config> = Config::of_user(&self.places.config_file()).into_iter().collect();
        if let Ok(Some(FileContent::Whole(bytes))) = read_beneath(&self.root, Path::new(CONFIG), MAX_FILE_BYTES)
            && self.covers(CONFIG, &bytes)
        {
            configs.extend(Config::parse(CONFIG, &String::from_utf8_lossy(&bytes)));
        }
        configs
    }

    fn covers(&self, path: &str, bytes: &[u8]) -> bool {
        self.trust.is_trusted_by_hash(path, &sha256_hex(bytes))
    }
}

/// Whether a shell takes nothing in a name for anything else.
#[must_use]
pub fn is_shell_safe(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '@' | '-');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

fn shell_safe_names(names: impl IntoIterator<Item = String>) -> Vec<String> {
    names.into_iter().filter(|name| is_shell_safe(name)).collect()
}

/// The root of the work tree around a folder and the git folder that all its work trees share:
/// <https://git-scm.com/docs/gitrepository-layout>.
fn work_tree_folders(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    for root in folder.ancestors() {
        let dot = root.join(".git");
        let Ok(metadata) = dot.symlink_metadata() else { continue };
        let git = if metadata.is_dir() { dot } else { root.join(pointer(&dot)?.strip_prefix("gitdir:")?.trim()) };
        let common = match pointer(&git.join("commondir")) {
            Some(common) => git.join(common.trim()),
            None => git,
        };
        return Some((root.to_path_buf(), common.canonicalize().ok()?));
    }
    None
}

fn pointer(file: &Path) -> Option<String> {
    match read_regular(file, POINTER).ok()?? {
        FileContent::Whole(bytes) => String::from_utf8(bytes).ok(),
        FileContent::Cut(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_shell_reads_otherwise() {
        for (name, expected) in [
            ("risk/decision@1.0.0", true),
            ("claude-haiku-4-5", true),
            ("", false),
            ("-rf", false),
            ("a b", false),
            ("$(id)", false),
            ("a;b", false),
            ("a`b", false),
            ("ä", false),
            ("a\u{b}b", false),
            ("~root", false),
            ("a*", false),
        ] {
            assert_eq!(is_shell_safe(name), expected, "{name:?}");
        }
    }
}
